"""The command line: what may be typed, what is printed where, and how files are called."""
import os
import re
import xml.etree.ElementTree

import pytest
from cli import BUSY, files, folded, run, share, start


@pytest.fixture
def busy(target):
    return start(target, BUSY, 60)


def test_without_arguments_the_commands_are_listed_on_stderr(cspy):
    r = run(cspy)
    assert r.code == 2 and r.out == ''
    assert 'cspy record' in r.err and 'cspy dump' in r.err


@pytest.mark.parametrize('args', [['--help'], ['-h'], ['help'], ['record', '--help'], ['dump', '-h'], ['help', 'record']])
def test_help_goes_to_stdout_and_is_no_error(cspy, args):
    r = run(cspy, *args)
    assert r.code == 0 and r.err == ''
    assert 'record' in r.out or 'dump' in r.out
    assert max(map(len, r.out.splitlines())) <= 100


@pytest.mark.parametrize('args', [['--version'], ['-V'], ['record', '--version'], ['dump', '-V']])
def test_version_is_one_line(cspy, args):
    r = run(cspy, *args)
    assert r.code == 0 and r.err == ''
    assert re.match(r'cspy \d+\.\d+\.\d+\n$', r.out)


def test_every_format_is_in_the_help_of_record(cspy):
    listed = re.search('formats: (.*)', run(cspy, 'record', '-f', 'x', '1').err)[1].split(', ')
    out = run(cspy, 'record', '--help').out
    assert 'folded' in listed and 'flamegraph' in listed
    for name in listed:
        assert re.search(r'^  %s +\S' % name, out, re.M), out


def test_an_unknown_command_is_named_and_the_way_to_start_a_program_shown(cspy):
    r = run(cspy, 'python3')
    assert r.code == 2 and r.out == ''
    assert "no command 'python3'" in r.lines[0]
    assert 'cspy record -- python3' in r.lines[1]


@pytest.mark.parametrize('form', [
    lambda pid: ['record', '-p', pid],
    lambda pid: ['record', '--pid', pid],
    lambda pid: ['record', '--pid=%d' % pid],
    lambda pid: ['record', pid],
    lambda pid: ['record', hex(pid)],
    lambda pid: ['-p', pid],
    lambda pid: ['--pid', pid],
    lambda pid: [pid],
])
def test_a_process_is_named_in_any_usual_way(cspy, busy, form):
    r = run(cspy, *form(busy.pid), '-d', '0.3', '-f', 'folded', '-o', '-')
    assert r.code == 0, r
    assert share(folded(r.out), 'hot') > 0.5, r


def test_options_may_follow_the_process(cspy, busy):
    r = run(cspy, 'record', busy.pid, '-d', '300ms', '-q', '-o-', '-fraw')
    assert r.code == 0 and r.err == ''
    assert folded(r.out)


def test_only_the_output_goes_to_stdout(cspy, busy, tmp_path):
    r = run(cspy, 'record', '-p', busy.pid, '-d', '0.3', '-o', tmp_path / 'x.svg')
    assert r.code == 0 and r.out == ''
    assert r.err
    r = run(cspy, 'record', '-p', busy.pid, '-d', '0.3', '-o', '-')
    assert r.code == 0
    xml.etree.ElementTree.fromstring(r.out)


def test_quiet_says_nothing(cspy, busy, tmp_path):
    r = run(cspy, 'record', '-q', '-p', busy.pid, '-d', '0.3', '-o', tmp_path / 'x.svg')
    assert (r.code, r.out, r.err) == (0, '', '')


def test_the_default_file_is_a_flame_graph_named_after_process_and_time(cspy, busy, tmp_path):
    r = run(cspy, 'record', '-p', busy.pid, '-d', '0.3', cwd=tmp_path)
    name, = files(tmp_path)
    assert re.match(r'cspy-%d-\d{8}-\d{6}\.svg$' % busy.pid, name)
    assert name in r.err
    xml.etree.ElementTree.parse(str(tmp_path / name))


def test_the_default_files_ending_follows_the_format(cspy, busy, tmp_path):
    run(cspy, 'record', '-p', busy.pid, '-d', '0.3', '-f', 'folded', cwd=tmp_path)
    name, = files(tmp_path)
    assert name.startswith('cspy-%d-' % busy.pid) and name.endswith('.folded')


def test_the_ending_of_the_file_chooses_the_format(cspy, busy, tmp_path):
    run(cspy, 'record', '-p', busy.pid, '-d', '0.3', '-o', 'x.folded', cwd=tmp_path)
    assert share(folded((tmp_path / 'x.folded').read_text()), 'hot') > 0.5


def test_the_format_wins_over_the_ending(cspy, busy, tmp_path):
    run(cspy, 'record', '-p', busy.pid, '-d', '0.3', '-o', 'x.svg', '-f', 'raw', cwd=tmp_path)
    assert share(folded((tmp_path / 'x.svg').read_text()), 'hot') > 0.5


def test_percent_p_and_t_are_filled_in(cspy, busy, tmp_path):
    run(cspy, 'record', '-p', busy.pid, '-d', '0.3', '-o', 'a-%p-%t-100%%.svg', '--stats', 's-%p.json', cwd=tmp_path)
    a, s = files(tmp_path)
    assert re.match(r'a-%d-\d{8}-\d{6}-100%%\.svg$' % busy.pid, a)
    assert s == 's-%d.json' % busy.pid


@pytest.mark.parametrize('args, why, hint', [
    (['-f', 'out.svg', '1'], "no format 'out.svg'", 'use -o out.svg'),
    (['-f', 'pdf', '1'], "no format 'pdf'", 'formats: '),
    (['-o', 'flamegraph', '1'], 'name of a format', '-f flamegraph'),
    (['--file', 'x.svg', '-p', '1'], 'no option --file', '-o FILE'),
    (['python3', 'app.py'], 'app.py', '--'),
    (['python3'], "'python3'", 'cspy record -- COMMAND'),
    (['-p', '1', '2'], "'2'", ''),
    (['-p', '1', '--', 'x'], 'only one of them', ''),
    ([], 'nothing to record', '-p PID'),
    (['--'], 'nothing follows --', ''),
    (['-r', '0', '1'], '1 to 1000000', ''),
    (['-r', '-5', '1'], '1 to 1000000', ''),
    (['-r', '2000000', '1'], '1 to 1000000', ''),
    (['-r', 'fast', '1'], '1 to 1000000', ''),
    (['-d', '0', '1'], 'not a duration', ''),
    (['-d', 'long', '1'], 'not a duration', ''),
    (['-p', 'abc'], 'not a process id', ''),
    (['-p', '0'], 'not a process id', ''),
    (['-p', '-4'], 'not a process id', ''),
    (['--depth', '0', '1'], '1 to 65535', ''),
    (['--max-pause', '200%', '1'], 'not a share', ''),
    (['--blocking', '--nonblocking', '1'], 'exclude each other', ''),
    (['--nonsense', '1'], 'no option --nonsense', ''),
    (['-o'], '-o needs a value', ''),
])
def test_what_cannot_be_meant_is_a_usage_error(cspy, tmp_path, args, why, hint):
    r = run(cspy, 'record', *args, cwd=tmp_path)
    assert r.code == 2 and r.out == ''
    assert why in r.lines[0] and r.lines[0].startswith('cspy: ')
    assert len(r.lines) <= 2
    assert hint in ''.join(r.lines[1:])
    assert files(tmp_path) == []


@pytest.mark.parametrize('args, why', [
    ([], 'nothing to dump'),
    (['--', 'python3'], 'no command'),
    (['x'], 'one process id'),
    (['-p', '1', '2'], 'one process id'),
    (['-r', '100', '1'], 'no option -r'),
])
def test_dump_refuses_what_it_cannot_do(cspy, args, why):
    r = run(cspy, 'dump', *args)
    assert r.code == 2 and r.out == ''
    assert why in r.lines[0]


def test_a_dump_that_cannot_be_printed_is_a_failure(cspy, busy):
    with open('/dev/full', 'wb') as full:
        r = run(cspy, 'dump', busy.pid, stdout=full)
    assert r.code == 1
    assert 'standard output' in r.err


def test_a_signal_mask_of_the_caller_does_not_matter(cspy, busy):
    """Started in the background by a shell without job control, SIGINT is ignored: it ends a recording all the same."""
    r = run('/bin/sh', '-c', '"$0" record -p %d -f raw -o - & sleep 1; kill -INT $!; wait $!' % busy.pid, cspy)
    assert r.code == 0, r
    assert share(folded(r.out), 'hot') > 0.5
    assert os.path.exists('/proc/%d' % busy.pid)
