"""cspy dump --core: the stacks of a process that is no more, from its core file."""
import contextlib
import json
import os
import random
import resource
import shutil
import subprocess
import tempfile

import pytest
import runtimes
from cli import plain_python, run, static_cspy

PYTHON = '''
import os, threading, time
def waits(): time.sleep(100)
def fails(depth, word):
    if depth:
        return fails(depth - 1, word)
    os.abort()
t = threading.Thread(target=waits)
t.daemon = True
t.start()
time.sleep(0.3)
fails(2, "why")
'''
RUBY = '''
def waits
  sleep 100
end
def fails(depth)
  depth > 0 ? fails(depth - 1) : Process.kill("ABRT", $$)
  sleep 10
end
Thread.new { waits }
sleep 0.3
fails(2)
'''

with open('/proc/sys/kernel/core_pattern') as pattern:
    pytestmark = pytest.mark.skipif('/' in pattern.read(), reason='core files go elsewhere here (kernel.core_pattern)')


def core_of(interpreter, option, program, folder):
    """The core file of a program that ends itself; `folder` is where it runs, below the interpreter's root if it has one."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if interpreter.root:
            os.chroot(interpreter.root)
        os.chdir(str(folder)[len(interpreter.root or ''):])

    argv = interpreter.argv[2:] if interpreter.root else interpreter.argv
    p = subprocess.run([*argv, option, program], preexec_fn=prepare, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, timeout=60)
    assert p.returncode == -6, p
    name, = [f for f in os.listdir(str(folder)) if f.startswith('core')]
    return os.path.join(str(folder), name)


@contextlib.contextmanager
def folder_for(interpreter):
    """A folder that the interpreter can reach."""
    folder = tempfile.mkdtemp(dir=(interpreter.root or '') + '/tmp')
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope='module')
def core(tmp_path_factory):
    return core_of(plain_python(), '-c', PYTHON, tmp_path_factory.mktemp('core'))


def test_the_stacks_are_those_of_the_end(cspy, python):
    own = [python.root + python.executable] if python.root else []
    with folder_for(python) as folder:
        r = run(cspy, 'dump', '--json', '-l', '--core', core_of(python, '-c', PYTHON, folder), *own)
    assert r.code == 0, r
    main, other = json.loads(r.out)
    assert [f['name'] for f in main['frames']] == ['fails', 'fails', 'fails', '<module>']
    assert [f['line'] for f in main['frames']] == [7, 6, 6, 12]
    assert [v['repr'] for v in main['frames'][2]['locals']] == ['2', "'why'"]
    assert main['state'] == ('ended' if python.nogil else 'ended+gil') and main['sure'] and main['pid'] == main['os_thread_id']
    assert other['frames'][0]['name'] == 'waits' and other['state'] == 'ended'


def test_the_signal_is_told(cspy, core):
    r = run(cspy, 'dump', '--core', core)
    assert r.code == 0 and 'Ended by signal 6 (Aborted)' in r.out, r


@pytest.mark.skipif(os.geteuid() != 0, reason='its root folder can be used only by root')
def test_ruby_in_its_own_root(cspy, ruby):
    with folder_for(ruby) as folder:
        inside = folder[len(ruby.root):]
        shutil.copy(static_cspy(cspy), folder + '/cspy')
        core = core_of(ruby, '-e', RUBY, folder)
        r = run('chroot', ruby.root, inside + '/cspy', 'dump', '--json', '--core', core[len(ruby.root):])
    assert r.code == 0, r
    names = {tuple(f['name'] for f in t['frames'] if not f['name'].startswith(('kill', 'sleep'))) for t in json.loads(r.out)}
    assert ('fails', 'fails', 'fails', '<main>') in names, names
    assert any('waits' in n for n in names), names


def test_another_program_in_its_place_is_not_believed(cspy):
    python, *_ = [p for p in runtimes.pythons() if p.static] or pytest.skip('no Python with the interpreter in its executable')
    with folder_for(python) as folder:
        r = run(cspy, 'dump', '--core', core_of(python, '-c', PYTHON, folder), '/bin/true')
    assert r.code == 4 and 'no interpreter that cspy knows' in r.lines[0], r


def test_what_is_no_core_file_is_refused(cspy, tmp_path):
    for content in (b'', b'\x7fELF', b'text\n' * 1000):
        (tmp_path / 'x').write_bytes(content)
        r = run(cspy, 'dump', '--core', tmp_path / 'x')
        assert r.code == 4 and 'not a core file' in r.lines[0], r
    r = run(cspy, 'dump', '--core', '/bin/true')
    assert r.code == 4 and 'not a core file' in r.lines[0], r
    assert run(cspy, 'dump', '--core', tmp_path / 'none').code == 1
    assert run(cspy, 'dump', '--core', tmp_path / 'none', '-p', 1).code == 2


def test_a_damaged_core_file_does_no_harm(cspy, core, tmp_path):
    with open(core, 'rb') as f:
        whole = bytearray(f.read())
    for seed in range(12):
        rng, damaged = random.Random(seed), bytearray(whole)
        for _ in range(20):  # in the headers and notes, where all else comes from
            damaged[rng.randrange(16, 8192)] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
        if seed % 3 == 0:
            del damaged[rng.randrange(len(damaged)):]
        (tmp_path / 'x').write_bytes(damaged)
        assert run(cspy, 'dump', '--core', tmp_path / 'x').code in (0, 1, 4), seed
