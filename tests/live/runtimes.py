"""The interpreters that live tests run on, as fixtures/runtimes/list prints them, and how to start a program on one."""
import os
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = os.path.join(ROOT, 'fixtures', 'runtimes', 'list')
# Where a chroot keeps the programs that were copied into it; the programs see this path.
INSIDE = '/tmp/cspy-fixtures'


class Interpreter:
    """One interpreter. `root` is the chroot that it runs in, None for the machine's own root."""

    def __init__(self, name, runtime, version, command, flags):
        self.name = name
        self.runtime = runtime
        self.version = tuple(int(part) for part in version.split('.'))
        self.argv = shlex.split(command)
        self.root = self.argv[1] if self.argv[0] == 'chroot' else None
        self.executable = self.argv[-1]  # as the process itself sees it
        self.debug = 'debug' in flags
        self.nogil = 'nogil' in flags
        self.musl = 'musl' in flags  # no glibc; with a small part of what belongs to a Python
        self.static = 'static' in flags  # the interpreter is in the executable, not in a library of its own

    def __repr__(self):
        return '<%s %s>' % (self.name, '.'.join(map(str, self.version)))

    def place(self, path):
        """The path by which a program run by this interpreter finds a file of ours; a chroot gets a copy."""
        path = os.path.join(ROOT, path)
        if not self.root:
            return path
        # One folder a test process, so that two runs at once don't write over each other's.
        inside = '%s/%d' % (INSIDE, os.getpid())
        os.makedirs(self.root + inside, exist_ok=True)
        shutil.copy(path, self.root + inside)
        return '%s/%s' % (inside, os.path.basename(path))

    def start(self, script, *args, beside=(), **popen):
        """Start a program (a path from the top of the repository); `beside` names files that it imports."""
        for path in beside:
            self.place(path)
        return Target([*self.argv, self.place(script), *map(str, args)], script=self.place(script), **popen)


class Target:
    """A running program, in a session of its own so that its children end with it."""

    def __init__(self, argv, script=None, **popen):
        self.argv = argv
        self.script = script  # its path, as the process itself sees it
        self.errors = tempfile.TemporaryFile()
        popen.setdefault('stdin', subprocess.DEVNULL)
        popen.setdefault('stdout', subprocess.PIPE)
        popen.setdefault('stderr', self.errors)
        popen.setdefault('start_new_session', True)
        self.process = subprocess.Popen(argv, **popen)
        self.pid = self.process.pid
        self.pending = b''

    def line(self, seconds=20):
        """The next line of its output. Programs print one when they are ready."""
        while b'\n' not in self.pending:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                raise TimeoutError('%s printed no line in %s s' % (self.argv, seconds))
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise EOFError('%s ended: %s' % (self.argv, self.stderr()))
            self.pending += more
        line, _, self.pending = self.pending.partition(b'\n')
        return line.decode(errors='replace')

    def settle(self, seconds=20):
        """Wait until its main thread has slept for a while: what says "ready" and then blocks needs a moment for it, a long
        one on a busy machine."""
        end, before = time.monotonic() + seconds, None
        while time.monotonic() < end:
            with open('/proc/%d/status' % self.pid) as f:
                fields = dict(line.rstrip('\n').split(':\t', 1) for line in f)
            now = fields['State'][0], fields['voluntary_ctxt_switches']
            if now == before and now[0] == 'S':
                return
            before = now
            time.sleep(0.05)
        raise TimeoutError('%s does not come to rest' % self.argv)

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors='replace')

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.errors.close()


_listed = None


def _list():
    global _listed
    if _listed is None:
        p = subprocess.run([LIST], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           universal_newlines=True, check=True)
        here = [Interpreter(*line.split('\t')) for line in p.stdout.splitlines()]
        missing = [line.split('\t')[1:3] for line in p.stderr.splitlines() if line.startswith('missing\t')]
        _listed = here, [tuple(m) for m in missing]
    return _listed


def on_musl():
    """Every interpreter that runs here on musl, of any kind."""
    return [i for i in _list()[0] if i.musl]


def pythons():
    """Every Python that runs here, as Interpreter objects."""
    return [i for i in _list()[0] if i.runtime == 'python' and not i.musl]


def rubies():
    """Every Ruby that runs here, as Interpreter objects."""
    return [i for i in _list()[0] if i.runtime == 'ruby']


def jrubies():
    """JRuby, if it runs here: not by any of the interpreters above, but a program of Java's."""
    return [i for i in _list()[0] if i.runtime == 'jruby']


def nodes():
    """Every Node that runs here, as Interpreter objects."""
    return [i for i in _list()[0] if i.runtime == 'node' and not i.musl]


def missing():
    """(name, reason) of every interpreter of runtimes.tsv that does not run here."""
    return _list()[1]


def clean():
    """Remove what this process copied into chroots."""
    for interpreter in _list()[0]:
        if interpreter.root:
            shutil.rmtree('%s%s/%d' % (interpreter.root, INSIDE, os.getpid()), ignore_errors=True)
