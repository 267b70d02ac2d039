"""cspy killed at any instant, while it pauses as often as it can: the target runs on. CSPY_KILLS says how often (25)."""
import os
import random
import signal
import struct
import time

from cli import begin, plain_python, wait_for

THREADS = 6
PROGRAM = 'fixtures/targets/python/many_threads.py'
KILLS = int(os.environ.get('CSPY_KILLS', '25'))


def rounds(path):
    return struct.unpack('<%dQ' % THREADS, path.read_bytes())


def states(pid):
    found = []
    for tid in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/stat' % (pid, tid)) as f:
            found.append(f.read().rpartition(')')[2].split()[0])
    return found


def tracers(pid):
    with open('/proc/%d/status' % pid) as f:
        return [line for line in f if line.startswith('TracerPid:') and line.split()[1] != '0']


def test_a_killed_cspy_leaves_every_thread_running(cspy, target, tmp_path):
    counts = tmp_path / 'counts'
    t = target(plain_python(), PROGRAM, counts, THREADS)
    assert t.line() == 'ready'
    for _ in range(KILLS):
        p = begin(cspy, 'record', '--blocking', '-r', '5000', '-i', '-o', os.devnull, '-f', 'folded', t.pid)
        # From the first moment, through attaching, to the middle of the looks.
        time.sleep(random.uniform(0, 0.15))
        p.send_signal(signal.SIGKILL)
        p.communicate()
        before = rounds(counts)
        wait_for(lambda: all(now > then for now, then in zip(rounds(counts), before)))
        assert t.process.poll() is None and not tracers(t.pid)
        assert not set(states(t.pid)) & set('Tt')
