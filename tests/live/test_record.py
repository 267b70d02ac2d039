"""cspy record: what ends it, what it writes, and what becomes of the program that it watched or started."""
import contextlib
import os
import pty
import pwd
import re
import select
import signal
import sys
import time
import xml.etree.ElementTree

import pytest
from cli import (BUSY, SLEEPING, begin, end, files, folded, is_alive, plain_python, run, run_leaving, share, start, state, stats, stop,
                 wait_for)

FOLDED = ['-f', 'folded', '-o']


@pytest.fixture
def busy(target):
    return start(target, BUSY, 100)


def python_command(program, *args):
    return ['--', *plain_python().argv, '-c', program, *map(str, args)]


# ---- What is written ----

def test_the_hot_function_is_hot_on_every_interpreter(python, target, cspy, tmp_path):
    t = start(target, BUSY, 60, python=python)
    r = run(cspy, 'record', '-p', t.pid, '-d', '1.5', *FOLDED, '-', '--stats', tmp_path / 's')
    assert r.code == 0, r
    assert share(folded(r.out), 'hot') > 0.8, r
    s = stats(tmp_path / 's')
    # A busy machine may end it late, but loses no look uncounted.
    assert s['wall_ns'] > 1.4e9, s
    assert s['ticks'] + s['late'] + s['held_back'] == pytest.approx(100 * s['wall_ns'] / 1e9, abs=3), s
    assert s['samples'] >= s['ticks'] * 0.9 and s['ticks'] >= 20 and s['failed'] <= s['samples'] // 20, s
    assert s['runtime'].startswith('CPython %d.%d.' % python.version[:2])
    assert is_alive(t) and state(t.pid) in 'RS'


def test_statistics_are_complete(cspy, busy, tmp_path):
    r = run(cspy, 'record', '-p', busy.pid, '-d', '2', *FOLDED, '-', '--stats', tmp_path / 's')
    s = stats(tmp_path / 's')
    assert s['cspy_stats'] == 1 and s['pid'] == busy.pid and s['mode'] == 'cpu'
    assert '-c' in s['command']
    assert s['duration_s'] > 1.9
    assert s['ticks'] + s['late'] + s['held_back'] == pytest.approx(100 * s['duration_s'], abs=3)
    assert s['samples'] == sum(folded(r.out).values())
    assert s['rate'] == pytest.approx(s['ticks'] / s['duration_s'], rel=1e-3)
    assert 0 < s['cpu_ns'] < 2e9
    assert s['paused'] <= s['ticks']
    assert sum(s['failed_by_cause'].values()) == s['failed']
    for key in 'cut torn deep reused idle pause_failed paused_ns reads lean lean_function rate_wanted wall_ns'.split():
        assert key in s


def test_cspys_own_time_has_a_budget_which_lowers_the_rate(cspy, busy, tmp_path):
    r = run(cspy, 'record', '-p', busy.pid, '-d', '3', '-r', '2000', '--max-pause', '100%', '--max-overhead', '0.5%',
            *FOLDED, '-', '--stats', tmp_path / 's')
    s = stats(tmp_path / 's')
    assert 0 < s['rate'] < 1000, s
    assert s['held_back_own'] > 1000 and s['held_back_own'] <= s['held_back'], s
    assert s['cpu_ns'] < 4 * 0.005 * s['wall_ns'], s
    line, = [line for line in r.lines if '2000 were asked for' in line]
    assert "cspy's own CPU time within --max-overhead" in line


def test_the_summary_is_short_and_leaves_zeros_out(cspy, busy, tmp_path):
    r = run(cspy, 'record', '-p', busy.pid, '-d', '1', '-o', tmp_path / 'x.svg')
    assert str(tmp_path / 'x.svg') in r.err
    assert re.search(r'\d+ looks in \d+\.\d s', r.err)
    assert len(r.lines) <= 8
    assert all(line.startswith('cspy: ') for line in r.lines)
    assert not re.search(r'(?<![\d.])0 (stacks|late|failed|pauses)', r.err)


def test_a_rate_of_a_thousand_gives_ten_times_as_many(cspy, busy, tmp_path):
    run(cspy, 'record', '-p', busy.pid, '-d', '2', '-r', '1k', '--nonblocking', *FOLDED, '-', '--stats', tmp_path / 's')
    s = stats(tmp_path / 's')
    assert s['ticks'] + s['late'] == pytest.approx(1000 * s['duration_s'], rel=0.05)
    assert s['ticks'] > 1000
    assert s['paused'] == 0


def test_the_highest_rate_reads_as_fast_as_it_can_and_still_ends_in_time(cspy, busy, tmp_path):
    began = time.time()
    run(cspy, 'record', '-p', busy.pid, '-d', '1', '-r', '1M', '--nonblocking', *FOLDED, '-', '--stats', tmp_path / 's')
    assert time.time() - began < 15
    s = stats(tmp_path / 's')
    assert s['rate'] > 20000
    assert s['late'] > 0


@contextlib.contextmanager
def placed(t, apart):
    """The target on one CPU; what is started meanwhile on another one, or on the same."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(t.pid, cpus[-1:])
    os.sched_setaffinity(0, cpus[:1] if apart else cpus[-1:])
    try:
        yield len(cpus)
    finally:
        os.sched_setaffinity(0, cpus)


def test_blocking_pauses_nearly_every_time(cspy, busy, tmp_path):
    with placed(busy, apart=True) as cpus:
        run(cspy, 'record', '-p', busy.pid, '-d', '1', '--blocking', *FOLDED, '-', '--stats', tmp_path / 's')
    s = stats(tmp_path / 's')
    assert cpus == 1 or (s['paused'] >= s['ticks'] * 0.9 and s['paused_ns'] > 0), s
    assert is_alive(busy)


@pytest.mark.parametrize('mode', [[], ['--blocking']])
def test_who_has_the_targets_cpu_need_not_stop_it(cspy, busy, tmp_path, mode):
    with placed(busy, apart=False):
        r = run(cspy, 'record', '-p', busy.pid, '-d', '1.5', *mode, *FOLDED, '-', '--stats', tmp_path / 's')
    s = stats(tmp_path / 's')
    assert s['ticks'] > 20 and s['paused'] <= s['ticks'] / 2, s
    assert s['torn'] <= s['ticks'] / 10, s
    assert share(folded(r.out), 'hot') > 0.8, r
    assert is_alive(busy)


def test_function_and_nolineno_leave_lines_out(cspy, busy):
    lines = run(cspy, 'record', '-p', busy.pid, '-d', '1', *FOLDED, '-').out
    functions = run(cspy, 'record', '-p', busy.pid, '-d', '1', '-F', *FOLDED, '-').out
    bare = run(cspy, 'record', '-p', busy.pid, '-d', '1', '--nolineno', *FOLDED, '-').out
    assert {f for s in folded(lines) for f in s if f.startswith('hot')} & {'hot (<string>:6)', 'hot (<string>:5)'}
    assert {f for s in folded(functions) for f in s if f.startswith('hot')} == {'hot (<string>:3)'}
    assert not re.search(r':\d+\)', bare) and share(folded(bare), 'hot') > 0.8


def test_threads_are_told_apart_on_request(cspy, target):
    t = start(target, 'import threading, time, sys\n'
                      'def spin():\n while True: sum(range(1000))\n'
                      'for n in "ab":\n threading.Thread(target=spin, name="worker-" + n, daemon=True).start()\n'
                      'print("ready"); sys.stdout.flush(); time.sleep(100)')
    r = run(cspy, 'record', '-p', t.pid, '-d', '2', '-t', '-i', *FOLDED, '-')
    roots = {stack[0] for stack in folded(r.out)}
    assert any('worker-a' in root for root in roots) and any('worker-b' in root for root in roots), roots
    r = run(cspy, 'record', '-p', t.pid, '-d', '1', '-i', *FOLDED, '-')
    assert not any('worker' in stack[0] for stack in folded(r.out))


def test_idle_threads_are_counted_on_request_only(cspy, target, tmp_path):
    t = start(target, SLEEPING, 100)
    r = run(cspy, 'record', '-p', t.pid, '-d', '1', '-i', *FOLDED, '-')
    assert sum(folded(r.out).values()) > 50
    r = run(cspy, 'record', '-p', t.pid, '-d', '1', '-o', tmp_path / 'x.svg', '--stats', tmp_path / 's')
    assert r.code == 0
    assert 'no samples: all threads were idle' in r.err and '-i' in r.err
    assert stats(tmp_path / 's')['samples'] == 0 and stats(tmp_path / 's')['idle'] > 50
    xml.etree.ElementTree.parse(str(tmp_path / 'x.svg'))


def test_a_stopped_program_is_idle_although_it_has_the_lock(cspy, busy, tmp_path):
    os.kill(busy.pid, signal.SIGSTOP)
    for mode in ([], ['--blocking'], ['--nonblocking']):
        r = run(cspy, 'record', '-p', busy.pid, '-d', '1', *mode, *FOLDED, '-', '--stats', tmp_path / 's')
        assert r.code == 0 and 'no samples: all threads were idle' in r.err, r
        assert stats(tmp_path / 's')['samples'] == 0 and stats(tmp_path / 's')['idle'] > 50
    os.kill(busy.pid, signal.SIGCONT)
    r = run(cspy, 'record', '-p', busy.pid, '-d', '1', *FOLDED, '-')
    assert sum(folded(r.out).values()) > 50


def test_depth_keeps_the_leaf(cspy, target, tmp_path):
    t = start(target, 'import sys\n'
                      'def down(n):\n'
                      ' if n: return down(n - 1)\n'
                      ' print("ready"); sys.stdout.flush()\n'
                      ' while True: pass\n'
                      'down(200)')
    r = run(cspy, 'record', '-p', t.pid, '-d', '0.5', '--depth', '10', *FOLDED, '-', '--stats', tmp_path / 's')
    assert stats(tmp_path / 's')['deep'] == stats(tmp_path / 's')['samples'] > 0
    assert all(len(stack) <= 11 and stack[-1].startswith('down') for stack in folded(r.out))
    assert '--depth' in r.err


# ---- What ends it ----

@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_finishes_and_writes(cspy, busy, tmp_path, number):
    r = stop(begin(cspy, 'record', '-p', busy.pid, '-f', 'folded', '-o', tmp_path / 'x'), number)
    assert r.code == 0, r
    assert share(folded((tmp_path / 'x').read_text()), 'hot') > 0.5
    assert files(tmp_path) == ['x']
    assert is_alive(busy)


def test_nohup_holds(cspy, busy):
    p = begin(cspy, 'record', '-p', busy.pid, '-d', '2', *FOLDED, '-',
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.7)
    p.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert p.poll() is None
    assert end(p).code == 0


def test_a_second_signal_aborts(cspy, busy, tmp_path):
    """Nobody reads the pipe, so the first one leaves it waiting there."""
    os.mkfifo(tmp_path / 'pipe')
    p = begin(cspy, 'record', '-p', busy.pid, '-f', 'folded', '-o', tmp_path / 'pipe')
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert p.poll() is None
    p.send_signal(signal.SIGINT)
    assert end(p).code == -signal.SIGINT
    assert files(tmp_path) == ['pipe']
    assert is_alive(busy)


def test_two_signals_at_once_leave_nothing_half_written(cspy, busy, tmp_path):
    for _ in range(10):
        p = begin(cspy, 'record', '-p', busy.pid, '-o', tmp_path / 'x.svg')
        time.sleep(0.3)
        p.send_signal(signal.SIGINT)
        p.send_signal(signal.SIGTERM)
        assert end(p).code in (0, -signal.SIGTERM, -signal.SIGINT)
        assert files(tmp_path) in ([], ['x.svg'])
        if files(tmp_path):
            xml.etree.ElementTree.parse(str(tmp_path / 'x.svg'))


def test_a_killed_cspy_leaves_the_target_running_and_no_file(cspy, busy, tmp_path):
    p = begin(cspy, 'record', '-p', busy.pid, '--blocking', '-r', '1k', '-o', tmp_path / 'x.svg')
    time.sleep(1)
    p.kill()
    assert end(p).code == -signal.SIGKILL
    assert files(tmp_path) == []
    for _ in range(5):
        time.sleep(0.05)
        assert is_alive(busy) and state(busy.pid) in 'RS'


def test_usr1_writes_a_snapshot_and_goes_on(cspy, busy, tmp_path):
    p = begin(cspy, 'record', '-p', busy.pid, '-f', 'folded', '-o', tmp_path / 'x')
    time.sleep(0.8)
    p.send_signal(signal.SIGUSR1)
    wait_for(lambda: files(tmp_path) == ['x'])
    first = sum(folded((tmp_path / 'x').read_text()).values())
    assert p.poll() is None and first > 0
    r = stop(p, after=1)
    assert r.code == 0 and 'snapshot' in r.err
    assert sum(folded((tmp_path / 'x').read_text()).values()) > first
    assert files(tmp_path) == ['x']


def test_a_snapshot_into_a_pipe_is_refused_and_recording_goes_on(cspy, busy):
    p = begin(cspy, 'record', '-p', busy.pid, *FOLDED, '-')
    time.sleep(0.7)
    p.send_signal(signal.SIGUSR1)
    r = stop(p)
    assert r.code == 0 and 'no snapshot' in r.err
    assert share(folded(r.out), 'hot') > 0.5


def test_the_end_of_the_target_is_a_success(cspy, target, tmp_path):
    t = start(target, BUSY, 2)
    r = run(cspy, 'record', '-p', t.pid, '-f', 'folded', '-o', tmp_path / 'x')
    assert r.code == 0
    assert 'process %d has ended' % t.pid in r.err
    assert share(folded((tmp_path / 'x').read_text()), 'hot') > 0.5
    assert t.process.wait() == 0


def test_a_killed_target_is_noticed_at_once(cspy, busy):
    p = begin(cspy, 'record', '-p', busy.pid, *FOLDED, '-')
    time.sleep(0.7)
    began = time.time()
    busy.process.kill()
    r = end(p)
    assert r.code == 0 and time.time() - began < 15
    assert share(folded(r.out), 'hot') > 0.5


def test_the_duration_holds_although_the_target_is_stopped(cspy, busy):
    os.kill(busy.pid, signal.SIGSTOP)
    began = time.time()
    r = run(cspy, 'record', '-p', busy.pid, '-d', '1', '-i', *FOLDED, '-')
    assert r.code == 0, r
    assert time.time() - began < 15
    assert state(busy.pid) == 'T'
    os.kill(busy.pid, signal.SIGCONT)
    wait_for(lambda: state(busy.pid) == 'R')


# ---- exec in the middle ----

def exec_after(seconds, program, *argv):
    """A program that becomes another one when its time is over."""
    return BUSY.replace('main(time.time() + float(sys.argv[1]))',
                        'main(time.time() + %s)\nimport os\nos.execv(%r, %r)' % (seconds, program, list(argv)))


def test_another_python_after_exec_is_sampled_as_well(cspy, target):
    python = plain_python()
    after = BUSY.replace('hot', 'other')
    t = start(target, exec_after(2, python.executable, python.executable, '-c', after, '100'))
    r = run(cspy, 'record', '-p', t.pid, '-d', '5', *FOLDED, '-')
    assert r.code == 0, r
    assert 'exec' in r.err
    assert share(folded(r.out), 'hot') > 0.1 and share(folded(r.out), 'other') > 0.1, r


def test_what_was_sampled_before_an_exec_to_something_else_is_kept(cspy, target):
    t = start(target, exec_after(1.5, '/bin/sleep', 'sleep', '100'))
    r = run(cspy, 'record', '-p', t.pid, *FOLDED, '-')
    assert r.code == 0, r
    assert 'exec' in r.err and 'sleep' in r.err
    assert share(folded(r.out), 'hot') > 0.5
    assert is_alive(t)


# ---- Started by cspy ----

def test_a_started_program_is_recorded_from_its_beginning(cspy):
    r = run(cspy, 'record', '-r', '1k', *FOLDED, '-', *python_command(BUSY.replace('print("ready")', ''), 1.5))
    assert r.code == 0, r
    assert share(folded(r.out), 'hot') > 0.6


def test_a_started_program_keeps_its_input_and_output(cspy, tmp_path):
    program = 'import sys, time; time.sleep(0.5); print(sys.stdin.read().upper()); sys.stderr.write("told\\n")'
    with open(tmp_path / 'in', 'w') as f:
        f.write('some words')
    with open(tmp_path / 'in') as f:
        r = run(cspy, 'record', '-o', tmp_path / 'x.svg', *python_command(program), stdin=f)
    assert r.code == 0, r
    assert r.out == 'SOME WORDS\n'
    assert 'told' in r.lines


@pytest.mark.parametrize('status', [0, 1, 42, 255])
def test_its_exit_status_is_ours(cspy, tmp_path, status):
    r = run(cspy, 'record', '-o', tmp_path / 'x.svg',
            *python_command('import time, sys; time.sleep(0.5); sys.exit(%d)' % status))
    assert r.code == status
    assert files(tmp_path) == ['x.svg']


def test_its_death_by_a_signal_is_told_as_a_shell_does(cspy, tmp_path):
    r = run(cspy, 'record', '-o', tmp_path / 'x.svg',
            *python_command('import time, os; time.sleep(0.5); os.kill(os.getpid(), 9)'))
    assert r.code == 128 + 9
    assert files(tmp_path) == ['x.svg']


def test_its_exit_status_is_not_lost_while_it_is_paused(cspy):
    """It ends in the middle of pauses; what collects its stops must not collect its end."""
    program = 'import sys, time\nend = time.time() + 0.15\nwhile time.time() < end: sum(range(100))\nsys.exit(42)'
    codes = [run(cspy, 'record', '-q', '-r', '10k', '--blocking', *FOLDED, '/dev/null', *python_command(program)).code
             for _ in range(25)]
    assert codes == [42] * 25


def test_a_program_that_ends_at_once_still_gives_a_valid_file(cspy, tmp_path):
    r = run(cspy, 'record', '-o', tmp_path / 'x.svg', '--', '/bin/sh', '-c', 'exit 7')
    assert r.code == 7
    assert 'no samples' in r.err
    xml.etree.ElementTree.parse(str(tmp_path / 'x.svg'))


def test_its_options_are_its_own(cspy):
    r = run(cspy, 'record', '-q', *FOLDED, '/dev/null',
            *python_command('import sys; print(sys.argv[1:])', '-o', 'x', '--help', '--'))
    assert r.code == 0, r
    assert r.out == "['-o', 'x', '--help', '--']\n"


def test_it_goes_on_when_the_duration_is_over(cspy, tmp_path):
    r, alive = run_leaving(cspy, tmp_path, 'record', '-d', '0.5', '-o', tmp_path / 'x.svg', *python_command(BUSY, 60))
    assert r.code == 0, r
    assert re.search(r'process \d+ is still running', r.err)
    assert alive == 1
    assert files(tmp_path) == ['err', 'out', 'x.svg']


def test_it_inherits_nothing_from_us(cspy):
    program = ('import signal, os, time; time.sleep(0.3)\n'
               'status = open("/proc/self/status").read()\n'
               'print([l.split()[1] for l in status.splitlines() if l.startswith("SigBlk") or l.startswith("SigIgn")])\n'
               'print(sorted(os.listdir("/proc/self/fd")))\n'
               'print(open("/proc/self/timerslack_ns").read().strip())')
    ours = run(*plain_python().argv, '-c', program)
    theirs = run(cspy, 'record', '-q', *FOLDED, '/dev/null', *python_command(program))
    assert theirs.code == 0 and theirs.out == ours.out


def test_a_program_that_cannot_be_started_is_127(cspy, tmp_path):
    (tmp_path / 'plain').write_text('not executable')
    for name, why in (('/no/such/program', 'No such file'), ('no-such-program-on-the-path', 'No such file'),
                      (str(tmp_path / 'plain'), 'Permission denied'), ('/', 'Permission denied')):
        r = run(cspy, 'record', '-o', tmp_path / 'x.svg', '--', name)
        assert r.code == 127 and r.out == ''
        assert name in r.lines[0] and why in r.lines[0]
        assert files(tmp_path) == ['plain']


def test_a_shell_that_becomes_python_is_recorded(cspy):
    python = plain_python()
    r = run(cspy, 'record', *FOLDED, '-', '--', '/bin/sh', '-c', 'sleep 0.5; exec "$@"', 'sh', *python.argv, '-c',
            BUSY.replace('print("ready")', ''), '1.5')
    assert r.code == 0, r
    assert share(folded(r.out), 'hot') > 0.5


def test_a_program_without_interpreter_is_said_to_have_none(cspy, tmp_path):
    r, alive = run_leaving(cspy, tmp_path, 'record', '-o', tmp_path / 'x.svg', '--', '/bin/sleep', '60')
    assert r.code == 4
    assert 'sleep' in r.lines[0] and 'still running' in r.err
    assert alive == 1
    assert files(tmp_path) == ['err', 'out']


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
def test_under_sudo_it_runs_as_the_user_and_the_group(cspy):
    program = 'import os, time; time.sleep(0.3); print(os.getresuid(), os.getresgid(), sorted(os.getgroups()))'
    env = dict(os.environ, SUDO_UID='65534', SUDO_GID='65534')
    args = ['record', '-q', *FOLDED, '/dev/null', '--', '/usr/bin/python3', '-c', program]
    r = run(cspy, *args, env=env)
    assert r.out == '(65534, 65534, 65534) (65534, 65534, 65534) [65534]\n', r
    r = run(cspy, *args[:1], '--as-root', *args[1:], env=env)
    assert r.out.startswith('(0, 0, 0) (0, 0, 0)'), r


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
def test_under_sudo_it_has_the_users_supplementary_groups(cspy, tmp_path):
    program = 'import os, time; time.sleep(0.3); print(sorted(os.getgroups()))'
    user = pwd.getpwuid(65534).pw_name
    groups = tmp_path / 'group'
    groups.write_text('root:x:0:\nextra:x:4242:somebody,%s\nother:x:4243:somebody\n' % user)
    # The machine's own list of groups stays as it is.
    r = run('unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/group && exec "$@"', groups, cspy, 'record', '-q',
            *FOLDED, '/dev/null', '--', '/usr/bin/python3', '-c', program, env=dict(os.environ, SUDO_UID='65534', SUDO_GID='65534'))
    assert r.out == '[4242, 65534]\n', r


# ---- On a terminal ----

def on_terminal(argv, keys, seconds=20):
    """Run in a terminal of its own; `keys` are typed at their times. (exit code, everything shown)"""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(argv[0], argv)
    shown, began, keys = b'', time.time(), list(keys)
    while time.time() - began < seconds:
        if keys and time.time() - began > keys[0][0]:
            os.write(fd, keys.pop(0)[1])
        if select.select([fd], [], [], 0.05)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:
                break
            shown += more
            if not more:
                break
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise AssertionError('did not end: %r' % shown)
    os.close(fd)
    return os.waitpid(pid, 0)[1], shown.decode(errors='replace')


def test_progress_is_one_line_that_is_cleared_and_ctrl_c_writes(cspy, busy, tmp_path):
    status, shown = on_terminal([cspy, 'record', '-p', str(busy.pid), '-o', str(tmp_path / 'x.svg')], [(1.5, b'\x03')])
    assert status == 0, shown
    before, _, after = shown.partition('\r\n')
    assert 'samples' in before and 'CPython' in before and before.count('\r') >= 3
    assert 'Ctrl-C' not in after
    assert '\x1b[K' in shown
    assert files(tmp_path) == ['x.svg']


def test_progress_is_not_drawn_elsewhere(cspy, busy, tmp_path):
    r = run(cspy, 'record', '-p', busy.pid, '-d', '1', '-o', tmp_path / 'x.svg')
    assert '\r' not in r.err and '\x1b' not in r.err


def test_ctrl_c_ends_both_and_the_childs_status_is_ours(cspy, tmp_path):
    program = ('import sys, time\n'
               'try:\n while True: sum(range(1000))\n'
               'except KeyboardInterrupt:\n time.sleep(0.5); print("cleaned up"); sys.exit(9)')
    status, shown = on_terminal([cspy, 'record', '-o', str(tmp_path / 'x.svg'), *python_command(program)], [(2, b'\x03')])
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 9, shown
    assert 'cleaned up' in shown
    assert files(tmp_path) == ['x.svg']
    assert '\x1b' not in shown


def test_a_second_ctrl_c_finishes_although_the_child_ignores_both(cspy, tmp_path):
    program = ('import signal, time\n'
               'signal.signal(signal.SIGINT, signal.SIG_IGN)\n'
               'end = time.time() + 30\n'
               'while time.time() < end: sum(range(1000))')
    began = time.time()
    status, shown = on_terminal([cspy, 'record', '-o', str(tmp_path / 'x.svg'), *python_command(program)],
                                [(2, b'\x03'), (3, b'\x03')])
    assert status == 0, shown
    assert time.time() - began < 20
    assert 'still running' in shown
    assert files(tmp_path) == ['x.svg']


def test_the_tests_can_fail():
    """The judge of these tests: shares are counted by whole names."""
    assert share({('a', 'hotter (x:1)'): 1, ('hot (x:2)',): 3}, 'hot') == 0.75
    assert share({}, 'hot') == 0
    assert sys.version_info >= (3, 8)
