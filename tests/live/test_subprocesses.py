"""cspy record --subprocesses: every process of a tree in one profile, as they come and go."""
import os

import pytest
import runtimes
from cli import BUSY, plain_python, record_tree, run, wait_for
from load import Load

TREE = 'fixtures/targets/python/tree.py'
STORM = 'fixtures/targets/python/fork_storm.py'
RUBY_BUSY = ('def ruby_busy; n = 0; n += 1 while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 1.5; end; '
             'ruby_busy')
PYTHON_BUSY = 'import time\ndef python_busy():\n    while time.process_time() < 1.5: sum(range(200))\npython_busy()'


def a_ruby():
    found = runtimes.rubies()
    if not found:
        pytest.skip('there is no Ruby here')
    return found[-1]


def test_children_and_theirs_are_seen_in_one_profile(cspy, tmp_path):
    python = plain_python()
    program = 'import time\ndef executed():\n    while time.process_time() < 0.5: sum(range(200))\nexecuted()'
    seen, stats, r = record_tree(cspy, tmp_path, '--', *python.argv, runtimes.ROOT + '/' + TREE, *python.argv, '-c', program)
    by_function = {f: [p for p, functions in seen.items() if f in functions]
                   for f in ('parent', 'long_lived', 'short_lived', 'executed')}
    assert len(by_function['long_lived']) == 1
    assert len(by_function['short_lived']) == 3, 'a worker that lives 0.3 s was missed'
    # A child shows what it inherited as well; what was executed afresh does not.
    executed, = by_function['executed']
    assert executed not in by_function['parent']
    assert stats['processes'] >= 6
    assert '9 children were seen' in r.err


def test_python_and_ruby_below_a_shell_share_one_profile(cspy, tmp_path):
    ruby, python = a_ruby(), plain_python()
    both = '"$@" & %s -c "$P"; wait' % ' '.join(python.argv)
    seen, _, r = record_tree(cspy, tmp_path, '--', 'env', 'P=' + PYTHON_BUSY, 'sh', '-c', both, 'sh', *ruby.argv, '-e', RUBY_BUSY)
    assert len(seen) == 2
    assert {'python_busy'} <= set.union(*seen.values())
    assert any('ruby_busy' in f for f in set.union(*seen.values())), seen
    assert 'children were seen, 2 of them with an interpreter' in r.err


def test_children_that_are_there_already_are_recorded(cspy, target, tmp_path):
    t = target(['sh', '-c', '"$@" & "$@"; true', 'sh', *plain_python().argv, '-c', BUSY, '60'])
    said = ''
    while said.count('ready') < 2:  # in one line, when both write at once
        said += t.line()
    seen, stats, _ = record_tree(cspy, tmp_path, '-p', t.pid, '-d', '1')
    assert len(seen) == 2 and t.pid not in seen
    assert all('hot' in functions for functions in seen.values())
    # They do the same work, so they stand under one frame.
    roots = {line.partition(';')[0] for line in (tmp_path / 'out').read_text().splitlines()}
    assert len(roots) == 1 and roots.pop().startswith('2 processes: '), roots


def test_without_the_option_only_the_process_itself_is_seen(cspy, tmp_path):
    out = tmp_path / 'out'
    python = plain_python()
    run(cspy, 'record', '-q', '-F', '-f', 'folded', '-o', out, '--', *python.argv, runtimes.ROOT + '/' + TREE, 'true')
    text = out.read_text()
    assert 'long_lived' not in text and 'process ' not in text


def test_a_parent_that_only_waits_is_told_of_its_children(cspy, target, tmp_path):
    program = 'import subprocess, sys; c = subprocess.Popen(["sleep", "60"]); print("ready"); sys.stdout.flush(); c.wait()'
    t = target([*plain_python().argv, '-c', program])
    assert t.line() == 'ready'
    r = run(cspy, 'record', '-o', tmp_path / 'out.svg', '-p', t.pid, '-d', '0.5')
    assert 'process %d has 1 child process: -s records them, too' % t.pid in r.err


def test_a_storm_of_forks_is_survived(cspy, tmp_path):
    seen, stats, r = record_tree(cspy, tmp_path, '--', *plain_python().argv, runtimes.ROOT + '/' + STORM, '2')
    assert 'storm is over' in r.out
    assert any('storm' in functions for functions in seen.values())
    assert 'children were seen' in r.err and stats['ticks'] > 0


def test_a_tree_without_any_interpreter_is_a_recording_without_samples(cspy, target, tmp_path):
    t = target(['sh', '-c', 'echo ready; sleep 60; true'])
    t.line()
    r = run(cspy, 'record', '-s', '-f', 'folded', '-o', tmp_path / 'out', '-p', t.pid, '-d', '0.5')
    assert r.code == 4, r
    assert 'no samples: neither the process nor a child of it ran an interpreter that cspy knows' in r.err
    assert (tmp_path / 'out').read_text() == ''


def test_every_worker_of_a_puma_cluster_is_recorded(cspy, target, tmp_path):
    found = [r for r in runtimes.rubies() if os.path.exists((r.root or '') + '/usr/bin/puma')]
    if not found:
        pytest.skip('no Ruby here has puma')
    ruby = found[0]
    app = ruby.place('fixtures/targets/ruby/shop.ru')
    inside = os.path.join(os.path.dirname(app), 'cluster.sock')
    t = target([*ruby.argv, '/usr/bin/puma', '-w', '2', '-t', '1:1', '-b', 'unix://' + inside, app],
               env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'PWD': '/', 'HOME': '/'})
    wait_for(lambda: os.path.exists((ruby.root or '') + inside))
    with Load((ruby.root or '') + inside):
        seen, _, _ = record_tree(cspy, tmp_path, '-p', t.pid, '-d', '5')
    workers = [pid for pid, functions in seen.items() if 'Shop#call' in functions]
    assert len(workers) == 2 and t.pid not in workers, seen
