"""Run cspy as a user does, and small programs to run it on."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
import runtimes

SECONDS = 60  # a command that takes longer hangs

# Says when it is ready, then works in hot() for most of its time.
BUSY = '''
import sys, time
def hot(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def main(end):
    while time.time() < end:
        hot(20000)
print("ready")
sys.stdout.flush()
main(time.time() + float(sys.argv[1]))
'''

SLEEPING = '''
import sys, time
print("ready")
sys.stdout.flush()
time.sleep(float(sys.argv[1]))
'''


def plain_python():
    """One interpreter that is there everywhere, for what does not depend on the version."""
    for python in runtimes.pythons():
        if not python.root and python.version >= (3, 9):
            return python
    raise AssertionError('there is no Python to test with')


def start(target, program, *args, python=None, **popen):
    """A target that runs the text of a program, ready."""
    t = target([*(python or plain_python()).argv, '-c', program, *map(str, args)], **popen)
    assert t.line() == 'ready'
    return t


def static_cspy(cspy):
    """The static program, built beside the one under test."""
    build = os.path.dirname(cspy)
    p = subprocess.run(['make', '-s', 'BUILD=' + build, 'static'], cwd=runtimes.ROOT, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert p.returncode == 0, p.stdout
    return os.path.join(build, 'static', 'cspy')


class Result:
    def __init__(self, process, out, err):
        self.code = process.returncode
        self.out = out.decode(errors='replace')
        self.err = err.decode(errors='replace')
        self.lines = self.err.splitlines()

    def __repr__(self):
        return 'code %s\n--- out\n%s\n--- err\n%s' % (self.code, self.out[:2000], self.err)


def begin(cspy, *args, **popen):
    popen.setdefault('stdin', subprocess.DEVNULL)
    popen.setdefault('stdout', subprocess.PIPE)
    popen.setdefault('stderr', subprocess.PIPE)
    return subprocess.Popen([cspy, *map(str, args)], **popen)


def end(process, seconds=SECONDS):
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError('cspy did not end: %s' % Result(process, out or b'', err or b''))
    return Result(process, out or b'', err or b'')


def run_leaving(cspy, folder, *args):
    """For a command whose child outlives it: what the child holds open can't be waited for. Ends the child, too."""
    out, err = os.path.join(str(folder), 'out'), os.path.join(str(folder), 'err')
    with open(out, 'wb') as o, open(err, 'wb') as e:
        p = begin(cspy, *args, stdout=o, stderr=e, start_new_session=True)
    try:
        p.wait(SECONDS)
        alive = len([d for d in os.listdir('/proc') if d.isdigit() and session(int(d)) == p.pid])
    finally:
        os.killpg(p.pid, signal.SIGKILL)
    with open(out, 'rb') as o, open(err, 'rb') as e:
        return Result(p, o.read(), e.read()), alive


def session(pid):
    """Of a process that runs; None when it does not."""
    try:
        with open('/proc/%d/stat' % pid) as f:
            fields = f.read().rpartition(')')[2].split()
    except OSError:
        return None
    return int(fields[3]) if fields[0] in 'RSD' else None


def run(cspy, *args, **popen):
    return end(begin(cspy, *args, **popen))


def stop(process, number=signal.SIGINT, after=0.7):
    """End a recording by a signal once it has begun to sample."""
    time.sleep(after)
    process.send_signal(number)
    return end(process)


def folded(text):
    """{stack as a tuple of frames, root first: count}"""
    stacks = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(' ')
        stacks[tuple(stack.split(';'))] = stacks.get(tuple(stack.split(';')), 0) + int(count)
    return stacks


def share(stacks, name):
    """Share of samples with a frame of this function in them."""
    total = sum(stacks.values())
    found = sum(n for stack, n in stacks.items() if any(f == name or f.startswith(name + ' (') for f in stack))
    return found / total if total else 0


def functions_of(path):
    """{pid: functions in its stacks}, of folded stacks with a frame for each process."""
    found = {}
    for line in path.read_text().splitlines():
        process, *frames = line.rpartition(' ')[0].split(';')
        if re.match(r'\d+ processes: ', process):
            process, *frames = frames
        assert process.startswith('process '), line
        pid = int(process.split()[1].rstrip(':'))
        found.setdefault(pid, set()).update(f.split(' (')[0] for f in frames)
    return found


def record_tree(cspy, tmp_path, *args):
    """{pid: functions}, the statistics, and the Result, of a recording of a whole tree."""
    out, told = tmp_path / 'out', tmp_path / 'told'
    r = run(cspy, 'record', '-s', '-F', '-f', 'folded', '-o', out, '--stats', told, *args)
    assert r.code == 0, r
    return functions_of(out), stats(told), r


def stats(path):
    with open(path) as f:
        return json.load(f)


def is_alive(t):
    return t.process.poll() is None


def state(pid):
    """R, S, T, ... as in /proc/PID/stat"""
    with open('/proc/%d/stat' % pid) as f:
        return f.read().rpartition(')')[2].split()[0]


def child_processes(pid):
    with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


def need(program):
    """Its name; without it the test is skipped."""
    if not shutil.which(program):
        pytest.skip('there is no %s here' % program)
    return program


def wait_for(condition, seconds=20):
    until = time.time() + seconds
    while time.time() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError('%s s passed' % seconds)


def files(folder):
    return sorted(os.listdir(str(folder)))
