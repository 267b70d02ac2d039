"""Start a target, let a profiler record it, and see what both of them did."""
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import runtimes
import judge
import ruby_judge

HERE = os.path.dirname(os.path.abspath(__file__))
LOAD = {'python': 'bench/targets/load.py', 'ruby': 'bench/targets/load.rb'}
TRUTH = {'python': 'fixtures/targets/python/truth_%s.py', 'ruby': 'fixtures/targets/ruby/truth_%s.rb'}
JUDGE = {'python': judge.Judge, 'ruby': ruby_judge.Judge}
ROOTS = re.compile(r'(?:^|[;# ])(thread_\d) ')     # of the threads that load.rb starts
TARGET_SECONDS = 3600
END_SECONDS = 60        # what a profiler may take to write its output
POLL_SECONDS = 0.05
SETTLE_SECONDS = 0.4    # of a recording: its start is not its cost
CPUS = sorted(os.sched_getaffinity(0))


def on_cpu(which):
    """A preexec_fn. SIGINT works as in a terminal, also when the benchmark was started in the background."""
    def prepare():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if len(CPUS) > 1:
            os.sched_setaffinity(0, {CPUS[which]})
    return prepare


class Target:
    """A program on the last CPU, run by one interpreter; that one's own root, if it has one, gets a /proc."""

    def __init__(self, python, script, *args):
        self.python = python
        argv = [python.executable, python.place(script), *map(str, args)]
        if python.root:
            argv = ['unshare', '--mount', 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', python.root, *argv]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=on_cpu(-1))
        self.pid = self.process.pid
        self.folder = tempfile.mkdtemp(prefix='cspy-bench-', dir=python.root + '/tmp' if python.root else None)
        self.text = b''
        if self.lines(20)[:1] != ['ready']:
            self.end()
            raise SystemExit('bench/run: %s does not run on %s' % (script, python.name))

    def lines(self, seconds):
        """What it printed since the last call; waits up to so long for the first line."""
        while select.select([self.process.stdout], [], [], 0 if b'\n' in self.text else seconds)[0]:
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                break
            self.text += more
        whole, _, self.text = self.text.rpartition(b'\n')
        return whole.decode().splitlines()

    def inside(self, path):
        """A path below .folder as the target sees it."""
        return path[len(self.python.root):] if self.python.root else path

    def beside(self, argv):
        """The command line that runs `argv` in the target's own root."""
        if self.python.root:
            argv = ['nsenter', '--target', str(self.pid), '--mount', 'chroot', self.python.root, *argv]
        return ['env', 'LC_ALL=C', *argv]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def peak_memory(pid):
    """Bytes, of the program that the process runs now. (ru_maxrss counts what it was before exec as well.)"""
    try:
        with open('/proc/%d/status' % pid) as f:
            m = re.search(r'VmHWM:\s*(\d+) kB', f.read())
    except OSError:
        return 0
    return int(m[1]) * 1024 if m else 0


class Run:
    """One recording, ended by SIGINT after `seconds` from exec: everything counts, starting up and writing as well."""

    def __init__(self, tool, target, rate, seconds, threads):
        self.out = os.path.join(target.folder, 'out')
        command = tool.command(target, rate, seconds, self.out, threads > 1)
        with tempfile.TemporaryFile() as log:
            self.start = time.time()
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=on_cpu(0))
            self.memory = 0
            self._wait(p, seconds)
            self.seconds = time.time() - self.start
            self.finish = time.time()
            os.kill(p.pid, signal.SIGINT)  # not p.send_signal(), which collects it
            self._wait(p, END_SECONDS)
            os.kill(p.pid, signal.SIGKILL)
            usage = os.wait4(p.pid, 0)[2]
            log.seek(0)
            self.text = re.sub(r'\x1b\[[0-9;?]*[a-zA-Z]', '', log.read().decode(errors='replace'))
        p.returncode = 0    # collected above
        self.cpu = usage.ru_utime + usage.ru_stime
        self.outcome = tool.outcome(self.text, self.out, threads) if os.path.exists(self.out) else None

    def _wait(self, p, seconds):
        """Until it ends, without collecting it."""
        until = time.time() + seconds
        while time.time() < until:
            self.memory = max(self.memory, peak_memory(p.pid))
            if os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return
            time.sleep(max(0, min(POLL_SECONDS, until - time.time())))

    def failure(self):
        if self.outcome and self.outcome.samples:
            return ''
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        telling = [line for line in lines if re.search(r'error|fail|cannot|unsupported', line, re.I)]
        return (telling or lines[-1:] or ['it said nothing and recorded nothing'])[0][:150]


def speeds(lines, since, until):
    rows = [tuple(map(float, line.split())) for line in lines]
    return [speed for when, speed in rows if since + SETTLE_SECONDS <= when <= until]


def share(part, whole):
    return 100.0 * part / whole if whole else 0.0


def first_sample(short, long_):
    """Seconds from exec: where the line through both recordings' samples over time comes down to none."""
    more = long_.outcome.samples - short.outcome.samples
    return short.seconds - short.outcome.samples * (long_.seconds - short.seconds) / more if more > 0 else 0.0


def fill(row, short, long_, on, off):
    """The columns that come from a short and a long recording of each round."""
    def total(runs, value):
        return sum(map(value, runs))
    def samples(runs):
        return total(runs, lambda r: r.outcome.samples)
    seconds = total(long_, lambda r: r.seconds) - total(short, lambda r: r.seconds)
    n, all_ = samples(long_) - samples(short), samples(short) + samples(long_)
    if n > 0:
        row['per_second'] = n / seconds
        row['cpu_us'] = 1e6 * (total(long_, lambda r: r.cpu) - total(short, lambda r: r.cpu)) / n
        row['start_ms'] = 1e3 * statistics.median(map(first_sample, short, long_))
    row['failed'] = share(total(short + long_, lambda r: r.outcome.failed), all_)
    row['memory_mb'] = max(r.memory for r in long_) / 1e6
    for column in ('torn', 'cut'):
        if getattr(long_[0].outcome, column) is not None:
            row[column] = share(total(short + long_, lambda r: getattr(r.outcome, column)), all_)
    if long_[0].outcome.paused is not None:
        row['paused'] = 100 * statistics.mean(r.outcome.paused for r in long_)
    if on and off:
        row['slower'] = 100 * (1 - statistics.median(on) / statistics.median(off))


def measure(tool, python, mode, rate, a):
    """A row of the table."""
    row = dict(tool=tool.name, python='%s %s' % (python.name, '.'.join(map(str, python.version))), mode=mode, rate=rate)
    truth = mode == 'truth'
    threads = 4 if mode == 'threads' else 1
    number = {'max': 1000000}.get(rate) or int(rate)
    script = TRUTH[python.runtime] % a.truth if truth else LOAD[python.runtime]
    target = Target(python, script, *([] if truth else [mode]), TARGET_SECONDS)
    short, long_, on, off, verdicts, examples, roots = [], [], [], [], {}, {}, set()
    try:
        time.sleep(0.3)
        for _ in range(a.rounds):
            if not truth:
                since = time.time() - SETTLE_SECONDS
                target.lines(0)
                time.sleep(a.seconds)
                off += speeds(target.lines(0), since, time.time())
            for seconds, runs in ((a.seconds / 3, short), (a.seconds, long_)):
                runs.append(Run(tool, target, number, seconds + tool.starting, threads))
                if runs[-1].failure():
                    row['error'] = runs[-1].failure()
                    return row
            on += [] if truth else speeds(target.lines(0), long_[-1].start + tool.starting, long_[-1].finish)
            if truth:
                a.judge.count(tool.stacks(long_[-1].out), verdicts, examples)
            elif mode == 'threads' and python.runtime == 'ruby':
                roots.update(root for stack, _ in tool.stacks(long_[-1].out) for root in ROOTS.findall(stack))
                row['threads'] = len(roots)
        fill(row, short, long_, on, off)
        if truth:
            judged(row, verdicts)
            row['examples'] = examples
    finally:
        target.end()
    return row


def judged(row, verdicts):
    total = sum(verdicts.values())
    row['verdicts'] = verdicts
    # A stack that lacks its root is as wrong as one that has a false frame; one that says so (cut) is not.
    row['impossible'] = share(sum(verdicts.get(v, 0) for v in ('function', 'form', 'no-root')), total)
    row['wrong_line'] = share(verdicts.get('line', 0), total)


class StackJudge:
    """A judge of tests/live, for stacks that come one by one."""

    def __init__(self, judge):
        self.stack = judge.stack

    def count(self, stacks, verdicts, examples):
        """Adds to verdicts {verdict: samples}, and to examples one stack for each verdict."""
        known = {}
        for stack, count in stacks:
            if stack not in known:
                known[stack] = self.stack(stack)
            verdict = known[stack]
            verdicts[verdict] = verdicts.get(verdict, 0) + count
            if verdict not in ('ok', 'cut'):
                examples.setdefault(verdict, stack)


def make_judge(runtime, program):
    return StackJudge(JUDGE[runtime](os.path.join(runtimes.ROOT, TRUTH[runtime] % program)))
