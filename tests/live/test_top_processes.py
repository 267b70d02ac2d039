"""cspy top -s: a tree of processes, live on a terminal and in tables."""
import json
import os
import re
import signal

import pytest
from cli import plain_python, run
from test_top import SCHEMA, check, functions, top  # noqa: F401 (top is a fixture)
from test_subprocesses import a_ruby

CHILD = '''
import os, sys
def %(name)s():
    while os.getppid() == %(parent)d:
        sum(range(2000))
%(name)s()
'''
PARENT = '''
import os, signal, subprocess, sys, time
CHILD = %r
def child(name):
    subprocess.Popen([sys.executable, '-c', CHILD %% {'name': name, 'parent': os.getpid()}])
signal.signal(signal.SIGUSR1, lambda *_: child('joins'))
child('is_there')
print('ready')
sys.stdout.flush()
def parent():
    while True:
        time.sleep(0.01)
parent()
''' % CHILD


@pytest.fixture
def family(target):
    t = target([*plain_python().argv, '-c', PARENT])
    assert t.line() == 'ready'
    return t


def children(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def processes(text):
    """[(pid, depth, its command)] of a tree of processes."""
    found = re.findall(r'^ *(\d+) +\d+ (?: +[\d-]+){4}  (?:CPython [\d.]+|-)( +)(\S.*)', text, re.M)
    least = min((len(blanks) for _, blanks, _ in found), default=0)
    return [(int(pid), (len(blanks) - least) // 2, command) for pid, blanks, command in found]


def test_a_tree_shows_who_is_there_and_who_joins(family, top):  # noqa: F811
    screen = top(family, '-s', columns=140)
    first, = children(family.pid)
    screen.wait(lambda s: functions(s.text()).get('is_there', (0, 0))[0] > 50)
    screen.wait(lambda s: re.search(r'^ +PID +TID name +STATE', s.text(), re.M))
    screen.wait(lambda s: re.search(r'^ *%d +%d ' % (first, first), s.text(), re.M))
    screen.wait(lambda s: re.search(r'pid %d \+ 1 ' % family.pid, s.text()))
    screen.press('P', 'view: processes')
    screen.wait(lambda s: [p[:2] for p in processes(s.text())] == [(family.pid, 0), (first, 1)])
    os.kill(family.pid, signal.SIGUSR1)
    screen.wait(lambda s: len(processes(s.text())) == 3)
    second = next(p for p in children(family.pid) if p != first)
    screen.wait(lambda s: [p[:2] for p in processes(s.text())] == [(family.pid, 0), *sorted([(first, 1), (second, 1)])])
    screen.press('f', lambda s: min(functions(s.text()).get(f, (0, 0))[0] for f in ('is_there', 'joins')) > 20)
    os.kill(second, signal.SIGKILL)
    screen.press('P', lambda s: [p[:2] for p in processes(s.text())] == [(family.pid, 0), (first, 1)])


def test_a_process_opens_into_its_threads(family, top):  # noqa: F811
    screen = top(family, '-s', columns=140)
    child, = children(family.pid)
    both = r'^ *%d +%d (?s:.*)^ *%d +%d ' % (child, child, family.pid, family.pid)
    screen.press('t', lambda s: 'view: threads' in s.text() and re.search(both, s.text(), re.M))
    screen.press('P', lambda s: len(processes(s.text())) == 2)
    screen.press('j', lambda s: str(child) in next(r for y, r in enumerate(s.rows()) if s.screen.buffer[y][0].reverse and
                                                   r.split()[0].isdigit()))
    screen.press('\r', lambda s: 'view: threads' in s.text() and not re.search(both, s.text(), re.M))
    screen.wait(lambda s: re.search(r'^ *%d +%d ' % (child, child), s.text(), re.M))
    screen.press('\r', 'stack of ')
    screen.wait(lambda s: re.search(r'^ is_there \(', s.text(), re.M))
    screen.press('\x7f', 'view: threads')
    screen.press('\x7f', 'view: processes')
    screen.press('t', lambda s: re.search(both, s.text(), re.M))
    screen.press('q', lambda s: s.process.poll() is not None)
    assert screen.end() == 0 and screen.is_restored()


def test_idle_threads_of_children_count_when_wanted(family, top):  # noqa: F811
    screen = top(family, '-s', columns=140)
    screen.press('i', lambda s: functions(s.text()).get('parent', (0, 0))[0] > 90)
    screen.press('x', lambda s: re.search(r'- process %d: ' % family.pid, s.text()))
    screen.wait(lambda s: s.text().count(' process ') == 2)


def test_the_end_of_the_first_process_freezes_the_last_table(family, top):  # noqa: F811
    screen = top(family, '-s', columns=140)
    child, = children(family.pid)
    screen.wait(lambda s: functions(s.text()).get('is_there', (0, 0))[0] > 50)
    screen.press('P', lambda s: len(processes(s.text())) == 2)
    os.kill(family.pid, signal.SIGKILL)
    screen.wait('ENDED')
    screen.wait(lambda s: family.pid in [p[0] for p in processes(s.text())])
    screen.press('f', lambda s: functions(s.text()).get('is_there', (0, 0))[0] > 50)
    screen.press('x', 'is_there (')
    screen.type('q')
    assert screen.end() == 0 and screen.is_restored()


@pytest.mark.parametrize('columns,rows', [(80, 24), (200, 60), (40, 10), (20, 5)])
def test_the_tree_is_drawn_at_every_size(family, top, columns, rows):  # noqa: F811
    screen = top(family, '-s', columns=columns, rows=rows)
    screen.press('P', lambda s: re.search(r'^ *%d +\d' % family.pid, s.text(), re.M))
    assert all(len(r) <= columns for r in screen.rows())
    screen.press('t', lambda s: re.search(r'^ *%d +\d' % family.pid, s.text(), re.M))


def test_tables_and_json_have_the_process_of_each_thread(family, cspy):
    child, = children(family.pid)
    table = run(cspy, 'top', '-s', '--once', '--delay', '0.5', family.pid)
    assert table.code == 0 and table.err == '', table
    assert [p[:2] for p in processes(table.out)] == [(family.pid, 0), (child, 1)]
    assert functions(table.out)['is_there'][0] > 50
    r = run(cspy, 'top', '-s', '--json', '-n', '2', '--delay', '0.5', family.pid)
    assert r.code == 0 and r.err == '', r
    top = json.loads(r.out.splitlines()[-1])
    check(top, SCHEMA)
    by_pid = {p['pid']: p for p in top['processes']}
    assert set(by_pid) == {family.pid, child} == {t['pid'] for t in top['threads']}
    assert by_pid[child]['parent'] == family.pid and by_pid[child]['runtime'].startswith('CPython')
    assert by_pid[child]['cpu'] > by_pid[family.pid]['cpu'] and by_pid[child]['held'] > 50


def test_below_a_shell_two_runtimes_are_shown(target, cspy):
    ruby, python = a_ruby(), plain_python()
    t = target(['env', 'P=%s' % 'import sys\nprint("ready"); sys.stdout.flush()\ndef of_python():\n    while True: sum(range(200))\nof_python()',
                'sh', '-c', '"$@" & %s -c "$P"; wait' % ' '.join(python.argv), 'sh',
                *ruby.argv, '-e', 'def of_ruby; loop { (1..200).sum { |x| x } } end; puts "ready"; $stdout.flush; of_ruby'])
    said = ''
    while said.count('ready') < 2:  # in one line, when both write at once
        said += t.line()
    r = run(cspy, 'top', '-s', '--json', '-n', '2', '--delay', '1', t.pid)
    top = json.loads(r.out.splitlines()[-1])
    check(top, SCHEMA)
    assert sorted(p['runtime'].split(' ')[0] for p in top['processes']) == ['', 'CPython', 'Ruby']
    shown = {f['function'].split('#')[-1]: f['total'] for f in top['functions']}
    assert shown['of_python'] > 50 and shown['of_ruby'] > 50


def test_a_tree_without_an_interpreter_is_told_and_has_its_exit_code(target, cspy):
    t = target(['sh', '-c', 'sleep 600; true'])
    r = run(cspy, 'top', '-s', '--once', '--delay', '0.3', t.pid)
    assert r.code == 4 and 'WAITING' in r.out and re.search(r'^ *\d+ .*sleep 600', r.out, re.M), r


def test_source_is_shown_as_the_process_of_the_row_has_it(target, top, tmp_path):  # noqa: F811
    program = "exec(compile(open('code.py').read(), 'code.py', 'exec'))"
    for name in ('one', 'two'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'code.py').write_text(
            '# this is of %s\nimport os\nparent = os.getppid()\ndef %s():\n    while os.getppid() == parent:\n'
            '        sum(range(2000))\n%s()\n' % (name, name, name))
    t = target([*plain_python().argv, '-c', 'import subprocess, sys, time\nfor f in sys.argv[2:]:\n'
                '    subprocess.Popen([sys.executable, "-c", sys.argv[1]], cwd=f)\n'
                'print("ready")\nsys.stdout.flush()\nwhile True: time.sleep(0.01)', program, tmp_path / 'one', tmp_path / 'two'])
    assert t.line() == 'ready'
    screen = top(t, '-s', columns=140)
    screen.wait(lambda s: {'one', 'two'} <= set(functions(s.text())))
    for name in ('one', 'two', 'one'):
        screen.type('/\x15' + name + '\r')
        screen.wait(lambda s: list(functions(s.text())) == [name])
        screen.press('c', '# this is of ' + name)
        screen.type('\x7f')
        screen.wait('view: functions')
    screen.type('/\x15\r')
    screen.press('x', lambda s: s.text().count(' process ') == 3)
