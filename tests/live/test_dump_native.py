"""cspy dump -n: native frames in what every thread is doing now, sleeping ones left asleep."""
import json
import os
import subprocess

import pytest

import cli
import runtimes

TARGETS = os.path.join(runtimes.ROOT, 'fixtures', 'targets', 'native')

PYTHON = '''
import sys, threading, time, zlib
def asleep(seconds): time.sleep(seconds)
def packs():
    data = b'abcdefgh' * 100000
    while True: zlib.compress(data)
t = threading.Thread(target=asleep, args=(1000,))
t.daemon = True
t.start()
print('ready')
sys.stdout.flush()
packs()
'''

RUBY = '''
require "zlib"
def pack(s) Zlib::Deflate.deflate(s) end
def asleep() sleep 1000 end
Thread.new { asleep }
s = "abcdefgh" * 100000
$stdout.puts "ready"
$stdout.flush
loop { pack(s) }
'''


def dump(cspy, pid, *options):
    r = cli.run(cspy, 'dump', '-n', '--json', '-p', pid, *options)
    assert r.code == 0, r
    return json.loads(r.out)


def names(thread):
    """Root first."""
    return [f['qualname'] for f in reversed(thread['frames'])]


def has_path(thread, *path):
    rest = iter(names(thread))
    return all(any(f == wanted for f in rest) for wanted in path)


def wait_for_path(cspy, pid, *path):
    """One moment's dump may find the program elsewhere."""
    for _ in range(200):
        found = dump(cspy, pid)
        if any(has_path(t, *path) for t in found):
            return [t for t in found if has_path(t, *path)]
    raise AssertionError('no such path: %s\nin %s' % (path, [names(t) for t in found]))


def test_native_frames_stand_between_those_of_python(cspy, target):
    t = cli.start(target, PYTHON, python=cli.plain_python())
    working, = wait_for_path(cspy, t.pid, '<module>', 'packs', 'deflate')
    assert working['native'] and working['sure'] and not working['lost']
    assert [f['native'] for f in working['frames']] == sorted([f['native'] for f in working['frames']], reverse=True)
    sleeping, = wait_for_path(cspy, t.pid, 'asleep')
    assert sleeping['state'] == 'idle' and sleeping['native']
    assert 'sleep' in names(sleeping)[-1] or 'select' in names(sleeping)[-1], sleeping


def test_native_frames_stand_between_those_of_ruby(cspy, target):
    if not runtimes.rubies():
        pytest.skip('there is no Ruby')
    ruby = runtimes.rubies()[0]
    t = target([*ruby.argv, '-e', RUBY])
    assert t.line() == 'ready'
    wait_for_path(cspy, t.pid, '<main>', 'Object#pack', 'Zlib::Deflate.deflate', 'deflate')
    wait_for_path(cspy, t.pid, 'Object#asleep', 'Kernel#sleep')


def test_variables_stay_with_their_frames(cspy, target):
    t = cli.start(target, PYTHON, python=cli.plain_python())
    frames = {f['qualname']: f for thread in dump(cspy, t.pid, '--locals') for f in thread['frames']}
    assert [(v['name'], v['repr']) for v in frames['asleep']['locals']] == [('seconds', '1000')]
    assert [v['name'] for v in frames['packs']['locals']] == ['data']
    assert all(f['locals'] is None for f in frames.values() if f['native'])


def compiled(folder, name):
    program = os.path.join(str(folder), name)
    try:
        subprocess.run(['gcc', '-O2', '-pthread', '-o', program, os.path.join(TARGETS, name + '.c')], check=True)
    except FileNotFoundError:
        pytest.skip('there is no gcc here')
    return program


@pytest.fixture
def threads(target, tmp_path):
    t = target([compiled(tmp_path, 'threads')])
    assert t.line() == 'ready'
    return t


def test_five_hundred_threads_are_all_shown(cspy, target, tmp_path):
    t = target([compiled(tmp_path, 'crowd'), '500'])
    assert t.line() == 'ready'
    shown = dump(cspy, t.pid)
    assert len({thread['os_thread_id'] for thread in shown}) == len(shown) == 501
    at_work = [thread for thread in shown if has_path(thread, 'worker', 'works_there')]
    asleep = [thread for thread in shown if has_path(thread, 'sleeps_there', 'pause')]
    assert (len(at_work), len(asleep)) == (5, 496), [names(t) for t in shown if t not in at_work and t not in asleep]
    assert cli.is_alive(t) and cli.state(t.pid) == 'S'


def test_native_frames_stand_between_those_of_each_of_hundreds_of_threads(cspy, target):
    t = target([*cli.plain_python().argv, os.path.join(runtimes.ROOT, 'fixtures', 'targets', 'python', 'crowd.py'), '100', '200'])
    assert t.line() == 'ready'
    asleep = [names(thread) for thread in dump(cspy, t.pid) if thread['os_thread_id'] != t.pid]
    assert len(asleep) == 200
    for stack in asleep:
        assert 'Thread.run' in stack or 'run' in stack, stack
        assert 'sleep' in stack[-1] or 'select' in stack[-1], stack


def test_each_thread_of_a_c_program_is_shown_and_a_sleeping_one_is_not_woken(cspy, threads):
    for path in ('first_work', 'spin'), ('second_work', 'spin'), ('main', 'sleeper', 'epoll_wait'):
        wait_for_path(cspy, threads.pid, *path)
    assert len(dump(cspy, threads.pid)) == len(os.listdir('/proc/%d/task' % threads.pid))
    with pytest.raises(TimeoutError):
        threads.line(seconds=0.1)  # "interrupted"


def test_a_tree_of_processes_is_shown_with_native_frames(cspy, target, tmp_path):
    t = target(['sh', '-c', 'echo ready; sleep 1000 & wait'])
    assert t.line() == 'ready'

    def both():
        r = cli.run(cspy, 'dump', '-n', '-s', '-p', t.pid)
        assert r.code == 0, r
        return '2 processes, 2 read' in r.out and 'nanosleep' in r.out and '__libc_start' in r.out
    cli.wait_for(both)


def test_text_names_native_frames_with_their_module(cspy, threads):
    wait_for_path(cspy, threads.pid, 'main', 'sleeper', 'epoll_wait')
    r = cli.run(cspy, 'dump', '-n', '-p', threads.pid)
    assert r.code == 0 and 'native code (' in r.out and '    sleeper (threads' in r.out, r
    assert 'without its native frames' not in r.out, r


@pytest.mark.parametrize('other', ['--nonblocking', '--core=x'])
def test_what_needs_a_live_process_that_is_paused_is_refused_otherwise(cspy, other):
    r = cli.run(cspy, 'dump', '-n', other, *(['-p', '1'] if 'core' not in other else []))
    assert r.code == 2 and '--native' in r.lines[0], r
