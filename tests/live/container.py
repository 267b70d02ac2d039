"""A container, as tests need one: an interpreter's root folder, in pid, mount, user and network namespaces of its own."""
import os
import shutil
import subprocess

import runtimes


class Container:
    """What runs in it starts as process 1 there. `pid` is its id out here, `inside` a folder that it sees as `inside_path`."""

    def __init__(self, target, interpreter, program, *args, users=True, proc=None):
        self.root = interpreter.root
        self.inside_path = '%s/%d' % (runtimes.INSIDE, os.getpid())
        self.inside = self.root + self.inside_path
        os.makedirs(self.inside, exist_ok=True)
        own_users = ['--user', '--map-root-user'] if users else []
        self.launcher = target(['unshare', *own_users, '--fork', '--kill-child', '--pid', '--mount', '--net',
                                '--mount-proc=' + (proc or self.root + '/proc'), *interpreter.argv, *program, *args])
        assert self.launcher.line() == 'ready'
        self.pid = child_of(self.launcher.pid)

    def enter(self, *command):
        p = subprocess.run(['nsenter', '--target', str(self.pid), '--pid', '--mount', '--net', *map(str, command)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                           universal_newlines=True)
        return p.returncode, p.stdout, p.stderr

    def run(self, *command, capabilities):
        """Run a program of ours in its namespaces, with no more than these capabilities."""
        return self.enter('setpriv', '--bounding-set', '-all,' + capabilities, '--inh-caps', '-all,' + capabilities,
                          *command)

    def run_own(self, *command):
        """Run a program of its own in it."""
        return self.enter('--root', '--wd=/', *command)

    def copy(self, path):
        """Copy a file into it; its path there."""
        shutil.copy(path, self.inside)
        return '%s/%s' % (self.inside_path, os.path.basename(path))


def child_of(pid):
    for d in os.listdir('/proc'):
        if not d.isdigit():
            continue
        try:
            with open('/proc/%s/stat' % d) as f:
                if int(f.read().rpartition(')')[2].split()[1]) == pid:
                    return int(d)
        except OSError:
            pass
    raise AssertionError('process %d has no child' % pid)
