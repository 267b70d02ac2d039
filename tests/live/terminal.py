"""A terminal with a person before it: a pty, and an emulator that knows what its cells show."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

SECONDS = 20  # what is not on the screen by then does not come


class Screen(pyte.Screen):
    """With the two ways to scroll that pyte does not know: SU and SD."""

    def scroll(self, lines, way):
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        way(lines or 1)
        self.cursor.x, self.cursor.y = x, y

    def scroll_up(self, lines=1):
        self.scroll(lines, self.delete_lines)

    def scroll_down(self, lines=1):
        self.scroll(lines, self.insert_lines)


class Stream(pyte.ByteStream):
    csi = dict(pyte.ByteStream.csi, S='scroll_up', T='scroll_down')
    events = frozenset([*pyte.ByteStream.events, 'scroll_up', 'scroll_down'])


class Terminal:
    """A command on a terminal of its own. `env` replaces variables; None removes one."""

    def __init__(self, argv, columns=100, rows=30, env=(), **popen):
        self.master, slave = pty.openpty()
        self.device = os.dup(slave)  # to ask for its modes, and so that what was written last can still be read
        self.screen = Screen(columns, rows)
        self.stream = Stream(self.screen)
        self.raw = b''
        self.set_size(columns, rows)
        self.modes = self.get_modes()
        environment = dict(os.environ, TERM='xterm-256color', LANG='C.UTF-8')
        for name in ('NO_COLOR', 'COLUMNS', 'LINES', 'LC_ALL', 'LC_CTYPE'):
            environment.pop(name, None)
        for name, value in dict(env).items():
            environment[name] = value
        self.process = subprocess.Popen([str(a) for a in argv], stdin=slave, stdout=slave, stderr=slave, close_fds=True,
                                        env={k: v for k, v in environment.items() if v is not None},
                                        preexec_fn=self.own_terminal, **popen)
        os.close(slave)

    @staticmethod
    def own_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.master)
        os.close(self.device)

    def get_modes(self):
        return termios.tcgetattr(self.device)

    def set_size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def resize(self, columns, rows):
        """The kernel tells the program; the emulator has to know before the program draws."""
        self.screen.resize(rows, columns)
        self.screen.reset()
        self.set_size(columns, rows)

    def read(self, seconds):
        """What has come by then; False when nothing has."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        data = os.read(self.master, 1 << 16)
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def rows(self):
        return [row.rstrip() for row in self.screen.display]

    def text(self):
        return '\n'.join(self.rows())

    def wait(self, condition, seconds=SECONDS):
        """condition(self) as soon as it is true of what is shown: a text has to be on the screen."""
        if isinstance(condition, str):
            wanted, condition = condition, lambda t: wanted in t.text()
        until = time.time() + seconds
        while time.time() < until:
            if condition(self):
                while self.read(0.03):  # a drawing comes in pieces
                    pass
                value = condition(self)
                if value:
                    return value
            self.read(0.1)
        raise AssertionError('%s s passed; the screen:\n%s' % (seconds, self.text()))

    def type(self, text):
        os.write(self.master, text.encode())

    def press(self, text, condition):
        self.type(text)
        return self.wait(condition)

    def end(self, seconds=SECONDS):
        """The exit code once it has ended; all that it wrote is on the screen."""
        until = time.time() + seconds
        while self.process.poll() is None and time.time() < until:
            self.read(0.05)
        while self.read(0):
            pass
        assert self.process.poll() is not None, 'it did not end:\n' + self.text()
        return self.process.returncode

    def is_restored(self):
        """As it was before: its modes, and the cursor is to be seen, on the screen that was there before."""
        return (self.get_modes() == self.modes and self.raw.rindex(b'\x1b[?1049l') > self.raw.rindex(b'\x1b[?1049h')
                and self.raw.rindex(b'\x1b[?25h') > self.raw.rindex(b'\x1b[?25l'))
