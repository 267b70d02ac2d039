"""cspy doctor and ps: what can be profiled, and what stands in the way; and system calls that are refused."""
import json
import os
import shutil
import subprocess

import pytest
from cli import BUSY, SLEEPING, folded, plain_python, run, share, start


@pytest.fixture(scope='session')
def without_calls(cspy):
    path = os.path.join(os.path.dirname(cspy), 'tests', 'live', 'without_calls')
    assert os.access(path, os.X_OK), 'make live-helpers first'
    return path


# Without a C library, which brings its own rows.
SPIN = 'void _start(void) { for (;;) __asm__ volatile(""); }'


def findings(r):
    return {f['name']: f for f in json.loads(r.out)['findings']}


def test_the_doctor_finds_a_process_well(cspy, target, python):
    t = start(target, SLEEPING, 60, python=python)
    r = run(cspy, 'doctor', '--json', '-p', t.pid)
    assert r.code == 0, r
    told = json.loads(r.out)
    assert told['ok'] and told['pid'] == t.pid
    assert told['version'].startswith('%d.%d.%d' % python.version[:3])
    assert all(f['verdict'] != 'bad' for f in told['findings'])
    assert findings(r)['sample']['text'].startswith('1 of 1 threads read, 1 frames')
    assert '.eh_frame' in told['unwind']['executable'] and '.eh_frame' in told['unwind']['runtime']
    assert ('its unwind rows' in findings(r)) == (not python.static), 'the executable is not told twice'
    text = run(cspy, 'doctor', t.pid)
    assert text.code == 0 and 'Process %d can be profiled' % t.pid in text.out


def test_the_doctor_says_what_is_missing(cspy, target):
    t = target(['/bin/sleep', '60'])
    r = run(cspy, 'doctor', '--json', t.pid)
    assert r.code == 4, r
    assert findings(r)['memory']['verdict'] == 'good'
    assert findings(r)['runtime']['verdict'] == 'bad'
    assert 'sample' not in findings(r)
    assert "can't be profiled" in run(cspy, 'doctor', t.pid).out


@pytest.mark.parametrize('debug, where', [('-g', '.debug_frame'), ('-g0', 'none')])
def test_the_doctor_says_where_unwind_rows_come_from(cspy, target, tmp_path, debug, where):
    subprocess.run([os.environ.get('CC', 'cc'), debug, '-nostdlib', '-static', '-fno-unwind-tables', '-fno-asynchronous-unwind-tables', '-x', 'c',
                    '-', '-o', tmp_path / 'spin'], input=SPIN.encode(), check=True)
    t = target([tmp_path / 'spin'])
    r = run(cspy, 'doctor', '--json', t.pid)
    assert json.loads(r.out)['unwind']['executable'] == where, r
    found = findings(r)['unwind rows']
    assert found['verdict'] == ('note' if where == 'none' else 'good') and found['text'].startswith(where)
    assert bool(found['hint']) == (where == 'none')
    assert found['text'] in run(cspy, 'doctor', t.pid).out


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can make a user namespace here for certain')
def test_another_user_namespace_is_told(cspy, target):
    t = start(target, SLEEPING, 60)
    r = run('unshare', '--user', '--map-root-user', cspy, 'dump', t.pid)
    assert r.code == 3, r
    assert 'process %d: no permission to read it: it lives in another user namespace' % t.pid in r.lines[0]
    assert 'on the host' in r.lines[1]


def test_processes_with_an_interpreter_are_listed(cspy, target):
    t, other = start(target, SLEEPING, 60), target(['/bin/sleep', '60'])
    listed = {p['pid']: p for p in json.loads(run(cspy, 'ps', '--json').out)}
    assert other.pid not in listed
    p = listed[t.pid]
    assert p['runtime'] == 'CPython' and p['version'].startswith('%d.%d.' % plain_python().version[:2])
    assert 'time.sleep(float' in p['command'] and p['container'] == '' and p['ns_pid'] == t.pid
    line, = [x for x in run(cspy, 'ps').out.splitlines() if x.split()[0] == str(t.pid)]
    assert 'CPython %d.%d.' % plain_python().version[:2] in line
    assert all(c.isprintable() for c in line)


def test_ps_takes_no_process(cspy):
    assert run(cspy, 'ps', '1').code == 2


# ---- What a seccomp filter refuses ----

def test_where_one_way_to_read_is_refused_another_is_taken(cspy, target, without_calls):
    t = start(target, BUSY, 60)
    r = run(without_calls, 'process_vm_readv', cspy, 'doctor', '--json', t.pid)
    assert r.code == 0 and findings(r)['memory']['text'].endswith('/proc/PID/mem'), r
    r = run(without_calls, 'process_vm_readv', cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', t.pid)
    assert r.code == 0 and share(folded(r.out), 'hot') > 0.9, r


def test_where_pausing_is_refused_it_is_said_and_reading_goes_on(cspy, target, without_calls):
    def refused(*args):
        # A sanitizer that looks for leaks needs ptrace itself.
        return run(without_calls, 'ptrace', *args, env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0'))

    t = start(target, BUSY, 60)
    r = refused(cspy, 'dump', t.pid)
    assert r.code == 3 and 'no permission to pause it' in r.lines[0] and '--nonblocking' in r.lines[1], r
    r = refused(cspy, 'dump', '--nonblocking', t.pid)
    assert r.code == 0 and '<module>' in r.out, r
    r = refused(cspy, 'doctor', '--json', t.pid)
    assert r.code == 0 and findings(r)['pause']['verdict'] == 'note', r
    r = refused(cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', t.pid)
    assert r.code == 0 and share(folded(r.out), 'hot') > 0.3, r


def test_a_hostile_path_can_not_move_the_cursor(cspy, target, tmp_path):
    path = str(tmp_path / 'a\x9b2J\x1b[2J\u2028b')
    shutil.copy('/bin/sleep', path)
    t = target([path, '60'])
    for r in (run(cspy, 'doctor', t.pid), run(cspy, 'dump', t.pid)):
        assert r.code == 4 and 'a?2J?[2J?b' in r.out + r.err, r
        assert not set('\x9b\x1b\u2028') & set(r.out + r.err), r
