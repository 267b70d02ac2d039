"""What can't be done: one clear line why, the right exit code, no file, and the target as it was."""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from cli import BUSY, SLEEPING, begin, end, files, folded, is_alive, plain_python, run, share, start, state, wait_for

NOBODY = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason='needs root')


def assert_refused(r, code, why, hint=''):
    assert r.code == code, r
    assert r.out == ''
    assert 1 <= len(r.lines) <= 2, r
    assert r.lines[0].startswith('cspy: ') and why in r.lines[0], r
    assert hint in ''.join(r.lines[1:]), r


@pytest.fixture(params=['record', 'dump'])
def command(request, cspy, tmp_path):
    """Run either command on a process; record would write a file."""
    def go(pid, *more, **popen):
        if request.param == 'dump':
            return run(cspy, 'dump', *more, pid, **popen)
        r = run(cspy, 'record', *more, '-d', '1', '-o', tmp_path / 'x.svg', pid, **popen)
        assert files(tmp_path) == [], r
        return r
    return go


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@pytest.fixture
def public_cspy(cspy):
    """A copy that other users can run, however private the folder of the build is."""
    folder = '/tmp/cspy-test-%d' % os.getpid()
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    shutil.copy(cspy, folder + '/cspy')
    yield folder + '/cspy'
    shutil.rmtree(folder)


# ---- No such target ----

def test_no_such_process(command):
    p = subprocess.Popen(['/bin/true'])
    p.wait()
    assert_refused(command(p.pid), 5, 'process %d: there is no such process' % p.pid)


def test_a_zombie(command, target):
    t = target(['/bin/true'])
    wait_for(lambda: state(t.pid) == 'Z')
    assert_refused(command(t.pid), 5, 'zombie')


def test_a_kernel_thread(command):
    pids = [int(d) for d in os.listdir('/proc') if d.isdigit()]
    threads = [p for p in pids if os.path.exists('/proc/%d' % p) and flags(p) & 0x00200000]
    if not threads:
        pytest.skip('no kernel threads are seen in this pid namespace')
    assert_refused(command(threads[0]), 4, 'kernel')


def flags(pid):
    try:
        with open('/proc/%d/stat' % pid) as f:
            return int(f.read().rpartition(')')[2].split()[6])
    except OSError:
        return 0


def test_the_id_of_a_thread_names_its_process(command, target):
    t = start(target, 'import threading, time, sys\nthreading.Thread(target=time.sleep, args=(60,)).start()\n'
                      'print("ready"); sys.stdout.flush()')
    tid, = [int(d) for d in os.listdir('/proc/%d/task' % t.pid) if int(d) != t.pid]
    assert_refused(command(tid), 2, 'that is a thread; its process is %d' % t.pid, 'use -p %d' % t.pid)


def test_a_program_that_is_no_python_is_named(command, target):
    t = target(['/bin/sleep', '60'])
    time.sleep(5.2)  # until then it might be on its way to become one
    r = command(t.pid)
    assert_refused(r, 4, 'process %d: ' % t.pid)
    assert re.search(r'/(sleep|coreutils|busybox)\b', r.lines[0])
    assert is_alive(t) and state(t.pid) == 'S'


def test_our_own_process_is_no_python(cspy, tmp_path):
    r = run('/bin/sh', '-c', 'exec "$0" record -d 1 -o x.svg $$', cspy, cwd=tmp_path)
    assert r.code == 4 and files(tmp_path) == []


def test_a_target_that_ends_while_it_is_attached_to(cspy, target, tmp_path):
    """Ended at any moment of the start: a valid file or none, and never a hang."""
    for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.04):
        t = start(target, SLEEPING, 60)
        p = begin(cspy, 'record', '-d', '5', '-i', '-f', 'folded', '-o', tmp_path / 'x', t.pid)
        time.sleep(delay)
        t.process.kill()
        t.process.wait()
        r = end(p)
        assert r.code in (0, 5), r
        assert r.lines


# ---- No permission ----

@root_only
def test_somebody_elses_process_needs_sudo(target, public_cspy):
    t = start(target, SLEEPING, 60)
    r = run(public_cspy, 'dump', t.pid, preexec_fn=as_nobody)
    assert_refused(r, 3, 'it belongs to root', 'sudo')
    assert is_alive(t)


@root_only
def test_an_own_process_needs_no_root(target, public_cspy):
    python = [p for p in ('/usr/bin/python3',) if os.path.exists(p)]
    if not python or ptrace_scope():
        pytest.skip('no Python that everybody may run, or Yama forbids it')
    t = target([*python, '-c', BUSY, '60'], preexec_fn=as_nobody, cwd='/')
    assert t.line() == 'ready'
    r = run(public_cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', t.pid, preexec_fn=as_nobody, cwd='/')
    assert r.code == 0, r
    assert share(folded(r.out), 'hot') > 0.5


def ptrace_scope():
    try:
        with open('/proc/sys/kernel/yama/ptrace_scope') as f:
            return int(f.read())
    except OSError:
        return 0


@root_only
def test_a_protected_process_of_our_own_is_said_to_be_so(target, public_cspy):
    if not os.path.exists('/usr/bin/python3'):
        pytest.skip('no Python that everybody may run')
    t = target(['/usr/bin/python3', '-c', 'import ctypes, time, sys\n'
                'ctypes.CDLL(None).prctl(4, 0)\n'
                'print("ready"); sys.stdout.flush(); time.sleep(60)'], preexec_fn=as_nobody, cwd='/')
    assert t.line() == 'ready'
    r = run(public_cspy, 'dump', t.pid, preexec_fn=as_nobody, cwd='/')
    assert_refused(r, 3, 'not dumpable', 'sudo')


def drop_ptrace_capability():
    """As root in a container has it: uid 0, no CAP_SYS_PTRACE."""
    libc = ctypes.CDLL(None, use_errno=True)
    bit = 19
    libc.prctl(24, bit, 0, 0, 0)  # PR_CAPBSET_DROP
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    if libc.capget(header, data) != 0:
        os._exit(99)
    data[0] &= ~(1 << bit)
    data[1] &= ~(1 << bit)
    data[2] = 0
    if libc.capset(header, data) != 0:
        os._exit(98)


@root_only
def test_root_without_the_capability_is_told_how_a_container_gets_it(command, target):
    """The target has a capability that we lack: that is what the kernel looks at."""
    t = start(target, SLEEPING, 60)
    r = command(t.pid, preexec_fn=drop_ptrace_capability)
    assert_refused(r, 3, 'CAP_SYS_PTRACE', '--cap-add SYS_PTRACE')
    assert 'kubectl debug --profile=general --target=' in r.lines[1]


def test_a_debuggers_target_can_be_read_all_the_same(cspy, target, tmp_path):
    """Another tracer forbids pausing, not reading."""
    t = start(target, BUSY, 60)
    tracer = subprocess.Popen([sys.executable, '-c',
                               'import ctypes, sys, time\n'
                               'libc = ctypes.CDLL(None, use_errno=True)\n'
                               'libc.ptrace.argtypes = [ctypes.c_long] * 4\n'
                               'assert libc.ptrace(0x4206, %d, 0, 0) == 0\n'
                               'print("ready"); sys.stdout.flush(); time.sleep(60)' % t.pid], stdout=subprocess.PIPE)
    try:
        assert tracer.stdout.readline() == b'ready\n'
        r = run(cspy, 'record', '-d', '2', '--nonblocking', '-f', 'folded', '-o', '-', t.pid)
        assert r.code == 0, r
        assert share(folded(r.out), 'hot') > 0.3, r
        r = run(cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', t.pid)
        assert r.code == 0 and 'process %d (' % tracer.pid in r.err, r
        assert_refused(run(cspy, 'dump', t.pid), 3, 'by process %d (' % tracer.pid, '--nonblocking')
        r = run(cspy, 'dump', '--nonblocking', t.pid)
        assert r.code == 0 and '<module>' in r.out, r
    finally:
        tracer.kill()
        tracer.wait()
        tracer.stdout.close()
    assert state(t.pid) in 'RS'


# ---- Nowhere to write ----

def test_a_missing_folder_is_known_before_sampling(cspy, target, tmp_path):
    t = start(target, BUSY, 60)
    began = time.time()
    r = run(cspy, 'record', '-d', '30', '-o', tmp_path / 'no' / 'x.svg', t.pid)
    assert_refused(r, 1, 'No such file or directory', 'make the folder')
    assert str(tmp_path / 'no' / 'x.svg') in r.lines[0]
    assert time.time() - began < 20


def test_a_missing_folder_for_the_statistics_is_known_before_sampling(cspy, target, tmp_path):
    t = start(target, BUSY, 60)
    began = time.time()
    r = run(cspy, 'record', '-d', '30', '-o', tmp_path / 'x.svg', '--stats', tmp_path / 'no' / 's', t.pid)
    assert_refused(r, 1, 'No such file or directory')
    assert time.time() - began < 20 and files(tmp_path) == []


def test_a_bad_folder_is_known_before_a_program_is_started(cspy, tmp_path):
    r = run(cspy, 'record', '-o', tmp_path / 'no' / 'x.svg', '--', '/bin/touch', tmp_path / 'started')
    assert_refused(r, 1, 'No such file or directory')
    assert files(tmp_path) == []


def test_a_folder_in_the_files_place(cspy, target, tmp_path):
    t = start(target, BUSY, 60)
    assert_refused(run(cspy, 'record', '-d', '10', '-o', tmp_path, t.pid), 1, 'folder')


@root_only
def test_a_folder_that_we_may_not_write_to(target, public_cspy, tmp_path):
    if not os.path.exists('/usr/bin/python3'):
        pytest.skip('no Python that everybody may run')
    t = target(['/usr/bin/python3', '-c', BUSY, '60'], preexec_fn=as_nobody, cwd='/')
    assert t.line() == 'ready'
    r = run(public_cspy, 'record', '-d', '10', '-o', '/usr/cspy-test.svg', t.pid, preexec_fn=as_nobody, cwd='/')
    assert_refused(r, 1, 'Permission denied', '-o')


def in_private_mounts(folder, options, command):
    """Run with a small file system of our own mounted on the folder, that nobody else sees."""
    script = 'mount -t tmpfs -o %s tmpfs "$0" && "$@"; code=$?; ls -A "$0"; exit $code' % options
    return run('/usr/bin/unshare', '-m', '--propagation', 'private', '/bin/sh', '-c', script, folder, *command)


def can_mount(folder):
    return os.geteuid() == 0 and in_private_mounts(folder, 'size=1m', ['/bin/true']).code == 0


def test_a_read_only_folder_is_known_before_sampling(cspy, target, tmp_path):
    if not can_mount(tmp_path):
        pytest.skip('needs to mount')
    t = start(target, BUSY, 60)
    r = in_private_mounts(tmp_path, 'size=1m,ro', [cspy, 'record', '-d', '10', '-o', tmp_path / 'x.svg', t.pid])
    assert_refused(r, 1, 'Read-only file system', '-o')


def test_a_full_disk_leaves_nothing_behind(cspy, target, tmp_path):
    """A flame graph does not fit into eight kilobytes."""
    if not can_mount(tmp_path):
        pytest.skip('needs to mount')
    t = start(target, BUSY, 60)
    r = in_private_mounts(tmp_path, 'size=8k', [cspy, 'record', '-q', '-d', '1', '-o', tmp_path / 'x.svg', t.pid])
    assert r.code == 1, r
    assert r.out == ''  # nothing in the folder, hidden files included
    assert 'No space left on device' in r.lines[0]
    assert is_alive(t)


def test_a_full_device(cspy, target):
    t = start(target, BUSY, 60)
    with open('/dev/full', 'wb') as full:
        r = run(cspy, 'record', '-q', '-d', '0.5', '-o', '-', t.pid, stdout=full)
    assert r.code == 1 and 'No space left on device' in r.lines[0]
    r = run(cspy, 'record', '-q', '-d', '0.5', '-o', '/dev/full', t.pid)
    assert r.code == 1 and '/dev/full' in r.lines[0]


def test_a_reader_that_went_away_is_no_reason_to_hang(cspy, target):
    t = start(target, BUSY, 60)
    r = run('/bin/sh', '-c', '"$0" record -d 0.5 -o - %d | true' % t.pid, cspy)
    assert r.code == 0
    assert is_alive(t)


# ---- Odd targets ----

def test_a_stopped_target_stays_stopped(cspy, target):
    t = start(target, BUSY, 60)
    os.kill(t.pid, signal.SIGSTOP)
    wait_for(lambda: state(t.pid) == 'T')
    r = run(cspy, 'dump', t.pid)
    assert r.code == 0 and 'main' in r.out, r
    assert state(t.pid) == 'T'
    os.kill(t.pid, signal.SIGCONT)
    wait_for(lambda: state(t.pid) in 'RS')


def test_a_command_line_full_of_control_characters(cspy, target):
    t = target([*plain_python().argv, '-c', SLEEPING, '60', 'evil\x1b[2Jname\nProcess 1: fake', '\udcff\udcfe'])
    assert t.line() == 'ready'
    r = run(cspy, 'dump', t.pid)
    assert r.code == 0
    assert '\x1b' not in r.out and '\nProcess 1' not in r.out


def test_a_deleted_program_is_still_read(cspy, target, tmp_path):
    copy = shutil.copy('/usr/bin/python3', str(tmp_path / 'gone'))
    t = target([copy, '-c', SLEEPING, '60'], env=dict(os.environ, PYTHONHOME='/usr'))
    assert t.line() == 'ready'
    os.unlink(copy)
    r = run(cspy, 'dump', t.pid)
    assert r.code == 0 and '<module>' in r.out, r


def test_a_process_in_the_middle_of_its_start_is_waited_for(cspy, target):
    """Attached to before exec: it is not Python yet."""
    t = target(['/bin/sh', '-c', 'sleep 0.7; exec "$@"', 'sh', *plain_python().argv, '-c', BUSY, '60'])
    r = run(cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', t.pid)
    assert r.code == 0, r
    assert share(folded(r.out), 'hot') > 0.5
