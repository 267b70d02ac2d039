"""The profilers that bench/run compares: how each is called, and what it says about its recording."""
import json
import os
import re
import shlex
import shutil
import subprocess

LONGER = 20  # seconds that a tool would go on if it were not ended by SIGINT
MAX_RATE = 1000000


class Outcome:
    """Of one recording. Numbers that a tool does not tell are None."""

    def __init__(self, samples=0, failed=0, torn=None, cut=None, paused=None):
        self.samples = samples  # stacks asked for, failed ones included; one a thread
        self.failed = failed
        self.torn = torn        # changed while they were read, and found out
        self.cut = cut          # of those, kept in part
        self.paused = paused    # share of the time, 0..1


class Tool:
    """A profiler in one of its modes. `stacks` yields (folded stack as cspy writes it, count) of what it wrote."""

    program = None      # command line, or None when there is none here
    starting = 0        # seconds that it needs before SIGINT makes it write what it has
    runtime = 'python'  # what it reads; None: any that we have

    def __init__(self, name, options=()):
        self.name = name
        self.options = list(options)

    def missing(self, interpreter):
        """Why it can't be used on a target that this interpreter runs; '' when it can."""
        if self.runtime not in (None, interpreter.runtime):
            return 'does not read %s' % interpreter.runtime
        return '' if self.program else 'not found'

    def version(self):
        p = subprocess.run(self.program + ['--version'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        found = re.search(rb'\d+\.\d+(\.\d+)?', p.stdout)
        return found[0].decode() if found else '?'


def found(variable, name):
    """The command line in the environment variable, or the program on the PATH."""
    if os.environ.get(variable):
        return shlex.split(os.environ[variable])
    path = shutil.which(name)
    return [path] if path else None


class Cspy(Tool):
    runtime = None

    def command(self, target, rate, seconds, out, every_thread):
        idle = ['--idle'] if every_thread else []
        return [*self.program, 'record', '-p', str(target.pid), '-r', str(rate), '-d', str(int(seconds) + LONGER), '-f', 'folded',
                '-o', out, '--stats', out + '.stats', '--quiet', *idle, *self.options]

    def outcome(self, text, out, threads):
        with open(out + '.stats') as f:
            s = json.load(f)
        return Outcome(s['samples'] + s['failed'], s['failed'], s['torn'], s['cut'], s['paused_ns'] / max(1, s['wall_ns']))

    def stacks(self, out):
        with open(out, encoding='utf-8', errors='surrogateescape') as f:
            for line in f:
                stack, _, count = line.rstrip('\n').rpartition(' ')
                yield stack, int(count)


class PySpy(Tool):
    def command(self, target, rate, seconds, out, every_thread):
        idle = ['--idle'] if every_thread else []
        return [*self.program, 'record', '-p', str(target.pid), '-r', str(rate), '-d', str(int(seconds) + LONGER), '-f', 'raw', '-o', out,
                *idle, *self.options]

    def outcome(self, text, out, threads):
        m = re.search(r'Samples: (\d+) Errors: (\d+)', text)
        # An error loses a whole look, which would have been a stack of every thread.
        return Outcome(int(m[1]) + int(m[2]) * threads, int(m[2]) * threads) if m else Outcome()

    stacks = Cspy.stacks


class Austin(Tool):
    converter = None    # mojo2austin: its output as text

    def missing(self, interpreter):
        if self.program and not self.converter:
            return 'no mojo2austin, which makes its output text'
        return super().missing(interpreter)

    def command(self, target, rate, seconds, out, every_thread):
        return [*self.program, '-i', '%dus' % max(1, MAX_RATE // rate), '-x', str(int(seconds) + LONGER), '-p', str(target.pid), '-o', out,
                *self.options]

    def outcome(self, text, out, threads):
        m = re.search(r'Error rate\D*?(\d+)/(\d+)', text)
        return Outcome(int(m[2]), int(m[1])) if m else Outcome()

    def stacks(self, out):
        subprocess.run(self.converter + [out, out + '.txt'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out + '.txt', encoding='utf-8', errors='replace') as f:
            for line in f:
                if line.startswith('#') or ';' not in line:
                    continue
                stack = line.rstrip('\n').rpartition(' ')[0]
                yield ';'.join(colons(frame) for frame in stack.split(';')[2:]), 1


class OwnSampler(Tool):
    """`python3.15 -m profiling.sampling`: reads only a process of its own version, so the target's interpreter runs it."""

    starting = 2

    def missing(self, interpreter):
        if interpreter.runtime == 'python' and interpreter.version < (3, 15):
            return 'reads CPython 3.15 and later only; the target runs %s' % '.'.join(map(str, interpreter.version))
        self.program = interpreter.argv
        return super().missing(interpreter)

    def version(self):
        return ''

    def command(self, target, rate, seconds, out, every_thread):
        sampler = [target.python.executable, '-m', 'profiling.sampling', 'attach', '--all-threads', '-r', str(rate), '-d',
                   str(int(seconds) + LONGER), '--collapsed', '-o', target.inside(out), *self.options, str(target.pid)]
        return target.beside(sampler)

    def outcome(self, text, out, threads):
        m = re.search(r'Captured ([\d,]+) samples', text)
        looks = int(m[1].replace(',', '')) if m else 0
        m = re.search(r'Error rate: ([\d.]+)', text)
        return Outcome(looks * threads, looks * threads * float(m[1]) / 100 if m else 0)

    def stacks(self, out):
        with open(out, encoding='utf-8', errors='replace') as f:
            for line in f:
                stack, _, count = line.rstrip('\n').rpartition(' ')
                yield ';'.join(colons(frame) for frame in stack.split(';')[1:]), int(count)


class Rbspy(Tool):
    """Opens the target's files by the target's paths: it has to run in the target's own root, and gets a copy of itself there."""

    runtime = 'ruby'

    def command(self, target, rate, seconds, out, every_thread):
        program = target.inside(shutil.copy(self.program[0], target.folder))
        return target.beside([program, *self.program[1:], 'record', '-p', str(target.pid), '-r', str(rate), '-d', str(int(seconds) + LONGER),
                              '--format', 'collapsed', '--silent', '--file', target.inside(out), '--raw-file', target.inside(out + '.raw'),
                              *self.options])

    def outcome(self, text, out, threads):
        return Outcome(sum(count for _, count in self.stacks(out)))

    def stacks(self, out):
        with open(out, encoding='utf-8', errors='replace') as f:
            for line in f:
                stack, _, count = line.rstrip('\n').rpartition(' ')
                yield ';'.join('%s (%s)' % tuple(frame.rsplit(' - ', 1)) for frame in stack.split(';')), int(count)


def colons(frame):
    """`file:function:line` as `function (file:line)`."""
    parts = frame.rsplit(':', 2)
    return '%s (%s:%s)' % (parts[1], parts[0], parts[2]) if len(parts) == 3 else frame


def all_tools(cspy):
    Cspy.program = [cspy]
    PySpy.program = found('PYSPY', 'py-spy')
    Rbspy.program = found('RBSPY', 'rbspy')
    Austin.program = found('AUSTIN', 'austin')
    Austin.converter = found('MOJO2AUSTIN', 'mojo2austin')
    return [
        Cspy('cspy'),
        Cspy('cspy-blocking', ['--blocking']),
        Cspy('cspy-nonblocking', ['--nonblocking']),
        Cspy('cspy-native', ['--native']),
        PySpy('py-spy'),
        PySpy('py-spy-nonblocking', ['--nonblocking']),
        PySpy('py-spy-native', ['--native']),
        Austin('austin'),
        Rbspy('rbspy'),
        Rbspy('rbspy-nonblocking', ['--nonblocking']),
        OwnSampler('cpython-sampler'),
        OwnSampler('cpython-sampler-blocking', ['--blocking']),
    ]
