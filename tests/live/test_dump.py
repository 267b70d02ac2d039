"""cspy dump against what programs say of themselves: every thread's name, ids and stack, and the locals."""
import json
import os
import re

import pytest
from cli import BUSY, SLEEPING, plain_python, run, start, state

OWN_STACK = 'fixtures/targets/python/own_stack.py'
# Printed whole, and the same as the interpreter's repr() prints them.
SAME = {'int', 'long', 'float', 'bool', 'NoneType', 'str', 'unicode', 'bytes', 'list', 'tuple', 'dict'}
WHOLE = 60


def dump(cspy, pid, *options):
    r = run(cspy, 'dump', '--json', *options, pid)
    assert r.code == 0 and r.err == '', r
    return json.loads(r.out)


@pytest.fixture
def own_stack(python, target, tmp_path):
    """A program whose threads all stand still, and what it says of them."""
    seen = inside = str(tmp_path / 'own.json')
    if python.root:
        inside = os.path.join(os.path.dirname(python.place(OWN_STACK)), 'own.json')
        seen = python.root + inside
    t = target(python, OWN_STACK, inside)
    assert t.line(60) == 'ready'
    t.settle()
    with open(seen, encoding='utf-8') as f:
        t.truth = json.load(f)
    return t


def rows(thread, python):
    """Root first, as the program tells them."""
    return [[f['name'], f['qualname'] if python.version >= (3, 11) else None, f['filename'], f['line']]
            for f in reversed(thread['frames'])]


def test_every_stack_is_what_the_interpreter_says(python, cspy, own_stack):
    threads = {t['thread_name']: t for t in dump(cspy, own_stack.pid)}
    assert len(threads) == len(own_stack.truth['threads'])
    for truth in own_stack.truth['threads']:
        thread = threads[truth['name']]
        assert thread['error'] is None and not thread['truncated']
        assert rows(thread, python) == truth['stack'], truth['name']


def test_threads_have_their_ids_and_do_nothing(python, cspy, own_stack):
    threads = {t['thread_name']: t for t in dump(cspy, own_stack.pid)}
    for truth in own_stack.truth['threads']:
        thread = threads[truth['name']]
        assert thread['pid'] == own_stack.pid
        assert thread['thread_id'] == truth['ident']
        if truth['native_id']:
            assert thread['os_thread_id'] == truth['native_id']
        assert not thread['active'] and not thread['owns_gil'] and thread['sure']
        assert thread['state'] == 'idle'


def test_every_frame_has_all_keys(python, cspy, own_stack):
    for thread in dump(cspy, own_stack.pid):
        assert thread['runtime'] == 'CPython'
        assert thread['runtime_version'].startswith('%d.%d.' % python.version[:2])
        for frame in thread['frames']:
            assert frame['locals'] is None and frame['error'] is None
            assert frame['filename'].endswith(frame['short_filename'])
            assert 0 < frame['first_line'] <= frame['line']
            assert frame['column'] > 0 or python.version < (3, 11)


def test_locals_are_what_the_interpreter_says(python, cspy, own_stack):
    threads = {t['thread_name']: t for t in dump(cspy, own_stack.pid, '--locals')}
    checked = 0
    for truth in own_stack.truth['locals']:
        frame, = [f for f in threads[truth['thread']]['frames'] if f['name'] == truth['function']]
        found = {local['name']: local for local in frame['locals']}
        assert set(found) == set(truth['values'])
        for name, (kind, text) in truth['values'].items():
            if name == 'huge':
                assert found[name]['repr'] .strip('L') in (text.strip('L'), '<int of 159 bits>')
            elif kind in SAME and len(text) < WHOLE:
                assert found[name]['repr'] == text, name
                checked += 1
            else:
                assert found[name]['repr'] and len(found[name]['repr']) < 1000
        arguments = {n for n, local in found.items() if local['arg']}
        assert arguments == ({'argument', 'args', 'kwargs'} if truth['function'] == 'locals_of_each_type' else {'own'})
    assert checked > 25


def test_the_text_shows_the_same_threads_and_frames(python, cspy, own_stack):
    r = run(cspy, 'dump', own_stack.pid, '--full-filenames')
    assert r.code == 0
    assert r.out.startswith('Process %d: ' % own_stack.pid)
    assert 'CPython v%d.%d.' % python.version[:2] in r.out
    shown = r.out.split('\nThread ')[1:]
    assert len(shown) == len(own_stack.truth['threads'])
    for truth in own_stack.truth['threads']:
        part, = [s for s in shown if re.match(r'(0x)?[0-9A-F]+ \(idle\): "%s"\n' % re.escape(truth['name']), s)]
        frames = [line for line in part.splitlines()[1:] if line.startswith('    ')]
        assert len(frames) == len(truth['stack'])
        for line, (name, qualified, path, number) in zip(reversed(frames), truth['stack']):
            assert line == '    %s (%s:%d)' % (qualified or name, path, number)


def test_without_pausing_the_same_is_seen(python, cspy, own_stack):
    threads = {t['thread_name']: t for t in dump(cspy, own_stack.pid, '--nonblocking')}
    for truth in own_stack.truth['threads']:
        assert rows(threads[truth['name']], python) == truth['stack'], truth['name']


def test_the_lock_is_owned_by_who_runs(python, cspy, target):
    t = start(target, BUSY, 60, python=python)
    seen = [dump(cspy, t.pid)[0] for _ in range(5)]
    assert all(s['active'] for s in seen)
    assert all(s['frames'][-1]['name'] == '<module>' for s in seen)
    if not python.nogil:
        assert sum(s['owns_gil'] and s['state'].startswith('active+gil') for s in seen) >= 3
    assert any(f['name'] == 'hot' for s in seen for f in s['frames'])
    assert state(t.pid) == 'R'


CHURN = '''
import sys
def even(n, mark):
    return odd(n - 1, mark + 1) if n else mark
def odd(n, mark):
    return even(n - 1, mark + 1)
print("ready")
sys.stdout.flush()
while True:
    even(20, 0)
'''


def test_a_running_stack_is_one_moments_and_so_are_its_locals(python, cspy, target):
    """mark counts the calls from the root on, and n those that are left: in a stack that existed each frame has them right."""
    t = start(target, CHURN, python=python)
    for _ in range(8):
        thread, = dump(cspy, t.pid, '--locals')
        frames = list(reversed(thread['frames']))
        assert thread['sure'], thread
        assert frames[0]['name'] == '<module>'
        for depth, frame in enumerate(frames[1:]):
            assert frame['name'] == ('odd' if depth % 2 else 'even')
            values = {local['name']: local['repr'] for local in frame['locals']}
            assert values == {'n': str(20 - depth), 'mark': str(depth)}
    assert state(t.pid) == 'R'


def test_locals_are_listed_under_their_frame(cspy, target):
    t = start(target, 'import sys, time\n'
                      'def f(a, b=2, *rest):\n'
                      ' c = {"x": 1}\n'
                      ' print("ready"); sys.stdout.flush(); time.sleep(60)\n'
                      'f("abc")')
    r = run(cspy, 'dump', '--locals', t.pid)
    part = r.out[r.out.index('    f (<string>:4)\n'):].splitlines()
    assert part[1:7] == ['        Arguments:', "            a: 'abc'", '            b: 2', '            rest: ()',
                         '        Locals:', "            c: {'x': 1}"], r
    r = run(cspy, 'dump', t.pid)
    assert 'Arguments' not in r.out and 'abc' not in r.out.split('\n\n', 1)[1]


def test_sub_interpreters_are_shown(cspy, target):
    import runtimes
    pythons = [p for p in runtimes.pythons() if p.version >= (3, 12)]
    if not pythons:
        pytest.skip('no Python that has them in its library')
    module = '_interpreters' if pythons[-1].version >= (3, 13) else '_xxsubinterpreters'
    t = start(target, 'import %s as sub, threading, sys, time\n'
                      'i = sub.create()\n'
                      'code = "def in_sub():\\n import time\\n time.sleep(60)\\nin_sub()"\n'
                      'threading.Thread(target=lambda: sub.run_string(i, code), daemon=True).start()\n'
                      'time.sleep(1); print("ready"); sys.stdout.flush(); time.sleep(60)' % module, python=pythons[-1])
    names = [f['name'] for thread in dump(cspy, t.pid) for f in thread['frames']]
    assert 'in_sub' in names and '<lambda>' in names, names


def test_many_threads_are_all_shown(cspy, target):
    t = start(target, 'import threading, sys, time\n'
                      'def wait(n):\n threading.Event().wait()\n'
                      'for i in range(200):\n threading.Thread(target=wait, args=(i,), name="w%d" % i, daemon=True).start()\n'
                      'time.sleep(0.5); print("ready"); sys.stdout.flush(); time.sleep(60)')
    threads = dump(cspy, t.pid)
    assert {x['thread_name'] for x in threads} == {'w%d' % i for i in range(200)} | {'MainThread'}
    assert threads[0]['thread_name'] == 'MainThread'
    assert all(x['frames'] and x['error'] is None for x in threads)


def test_a_dump_takes_little_of_the_targets_time(cspy, target):
    """Its clock jumps while it is paused; ten dumps must not add up to much."""
    t = start(target, 'import sys, time\n'
                      'print("ready"); sys.stdout.flush()\n'
                      'worst, last, end = 0, time.time(), time.time() + 4\n'
                      'while last < end:\n'
                      ' now = time.time(); worst = max(worst, now - last); last = now\n'
                      'print(worst)')
    for _ in range(5):
        dump(cspy, t.pid)
    assert float(t.line(30)) < 0.25


def test_the_own_python_can_be_young(cspy, target):
    t = target([*plain_python().argv, '-c', SLEEPING, '60'])
    r = run(cspy, 'dump', t.pid)
    assert r.code == 0, r
    assert t.line() == 'ready'
