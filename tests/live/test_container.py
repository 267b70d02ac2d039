"""cspy at a process in a container: from the host, from inside with one capability, and as one static file."""
import json
import os
import shutil
import tempfile

import pytest
import runtimes
from cli import BUSY, folded, run, share, static_cspy
from container import Container

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason='containers are made by root')

RUBY_BUSY = 'def hot; 100_000.times { |n| n + 1 }; end; $stdout.puts "ready"; $stdout.flush; loop { hot }'


def in_roots(interpreters):
    """One of each root folder: each has a libc of its own."""
    found = {i.root: i for i in interpreters if i.root and not i.debug}
    return list(found.values())


@pytest.fixture(params=in_roots(runtimes.pythons()), ids=lambda i: i.name)
def contained(request, target):
    c = Container(target, request.param, ['-c', BUSY, '100'])
    c.python = request.param
    return c


@pytest.fixture(scope='session')
def static(cspy):
    return static_cspy(cspy)


def test_from_the_host_both_ids_are_told(cspy, contained):
    r = run(cspy, 'dump', '--json', contained.pid)
    assert r.code == 0, r
    thread, = json.loads(r.out)
    assert (thread['pid'], thread['os_thread_id']) == (contained.pid, contained.pid)
    assert (thread['ns_pid'], thread['ns_thread_id']) == (1, 1)
    assert thread['frames'][-1]['name'] == '<module>'
    assert 'Process %d (1 in its container): ' % contained.pid in run(cspy, 'dump', contained.pid).out


def test_from_the_host_it_is_recorded(cspy, contained):
    r = run(cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', contained.pid)
    assert r.code == 0 and share(folded(r.out), 'hot') > 0.9, r


@pytest.mark.parametrize('rooted', in_roots(runtimes.rubies()), ids=lambda i: i.name)
def test_from_the_host_ruby_is_recorded(cspy, target, rooted):
    c = Container(target, rooted, ['-e', RUBY_BUSY])
    r = run(cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', c.pid)
    assert r.code == 0 and share(folded(r.out), 'Object#hot') > 0.9, r


def test_it_is_listed_with_its_namespace(cspy, contained):
    listed = {p['pid']: p for p in json.loads(run(cspy, 'ps', '--json').out)}
    p = listed[contained.pid]
    assert p['ns_pid'] == 1 and p['container'].startswith('namespace ')
    r = run(cspy, 'doctor', '--json', contained.pid)
    found = {f['name']: f['text'] for f in json.loads(r.out)['findings']}
    assert r.code == 0 and found['pid namespace'].endswith('its own id there is 1')
    assert found['user namespace'].startswith('another')


def test_from_inside_one_capability_is_enough(cspy, target):
    python = in_roots(runtimes.pythons())[-1]
    c = Container(target, python, ['-c', BUSY, '100'], users=False, proc='/proc')
    code, out, err = c.run(cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', 1, capabilities='+sys_ptrace')
    assert code == 0 and share(folded(out), 'hot') > 0.9, err
    code, out, err = c.run(cspy, 'dump', 1, capabilities='+chown')
    assert code == 3 and 'CAP_SYS_PTRACE' in err, err


def test_one_static_file_copied_into_it_is_enough(static, contained):
    path = contained.copy(static)
    code, out, err = contained.run_own(path, 'dump', '--json', 1)
    assert code == 0, err
    thread, = json.loads(out)
    assert thread['frames'][-1]['name'] == '<module>' and thread['ns_pid'] == 1
    code, out, err = contained.run_own(path, 'record', '-d', '1', '-f', 'folded', '-o', '-', 1)
    assert code == 0 and share(folded(out), 'hot') > 0.9, err
    code, out, err = contained.run_own(path, 'ps', '--json')
    assert [p['pid'] for p in json.loads(out)] == [1], err


# ---- A container that wants to lead cspy astray ----

# Maps a file that claims to be 1 TiB of ELF, one that becomes a pipe, and one in whose folder's place stands a link.
HOSTILE = r'''
import mmap, os, sys
os.chdir(sys.argv[1])
def mapped(path, text):
    with open(path, 'w+b') as f:
        f.write(text + b'\0' * (65536 - len(text)))
        f.flush()
        return mmap.mmap(f.fileno(), 65536, prot=mmap.PROT_READ)
elf = open(os.readlink('/proc/self/exe'), 'rb').read(4096)
os.makedirs('folder')
maps = [mapped('huge', elf), mapped('pipe', elf), mapped('folder/linked', elf)]
os.truncate('huge', 1 << 40)
os.unlink('pipe')
os.mkfifo('pipe')
os.rename('folder', 'moved')
os.symlink('/etc', 'folder')
print('ready'); sys.stdout.flush()
while True: sum(range(100))
'''


def doctor(cspy, pid, *through):
    r = run(*through, cspy, 'doctor', '--json', pid)
    assert r.code == 0, r
    return {f['name']: f['text'] for f in json.loads(r.out)['findings']}


@pytest.mark.parametrize('refused', ['nothing', 'openat2'])
def test_its_files_lead_nowhere(cspy, target, tmp_path, refused):
    python = in_roots(runtimes.pythons())[-1]
    work = tempfile.mkdtemp(dir=python.root + '/tmp')
    secret = tmp_path / 'secret'
    secret.write_text('1 1 not for them')
    through = [os.path.join(os.path.dirname(cspy), 'tests', 'live', 'without_calls'), refused]
    perf_map = python.root + '/tmp/perf-1.map'
    try:
        c = Container(target, python, ['-c', HOSTILE, work[len(python.root):]])
        assert doctor(cspy, c.pid, *through)['sample'].startswith('1 of 1 threads')
        for make in (os.mkfifo, lambda path: os.symlink(str(secret), path),
                     lambda path: os.symlink('../' * 20 + str(secret), path), os.mkdir):
            make(perf_map)
            assert 'perf map' not in doctor(cspy, c.pid, *through)
            (os.rmdir if os.path.isdir(perf_map) else os.unlink)(perf_map)
        with open(perf_map, 'w') as f:
            f.write('1 1 theirs')
        assert doctor(cspy, c.pid, *through)['perf map'].startswith('/tmp/perf-1.map')
    finally:
        if os.path.lexists(perf_map):
            os.unlink(perf_map)
        shutil.rmtree(work)


# ---- Another C library ----

NODE_BUSY = '''
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
console.log('ready');
for (;;) hot(1000000);
'''


def musl_named(runtime):
    found = [i for i in runtimes.on_musl() if i.runtime == runtime]
    return found[0] if found else pytest.skip('there is no %s on musl here' % runtime)


def test_python_on_musl_from_the_host(cspy, target):
    c = Container(target, musl_named('python'), ['-c', BUSY, '100'])
    r = run(cspy, 'dump', '--json', c.pid)
    assert r.code == 0, r
    thread, = json.loads(r.out)
    assert (thread['os_thread_id'], thread['ns_thread_id']) == (c.pid, 1)
    assert thread['frames'][-1]['name'] == '<module>'
    r = run(cspy, 'record', '-d', '1', '-f', 'folded', '-o', '-', c.pid)
    assert r.code == 0 and share(folded(r.out), 'hot') > 0.9, r


def test_native_frames_of_python_on_musl(cspy, target):
    c = Container(target, musl_named('python'), ['-c', BUSY, '100'])
    r = run(cspy, 'record', '-n', '-d', '2', '--max-pause', '50%', '-f', 'folded', '-o', '-', c.pid)
    stacks = folded(r.out)
    assert r.code == 0 and share(stacks, 'hot') > 0.9, r
    # musl says nothing of its own frames; those below it are found all the same.
    assert any('hot (' in stack[-2] and '(python3.11)' in stack[-1] for stack in stacks if len(stack) > 2), r


def test_node_on_musl_from_the_host(cspy, target):
    c = Container(target, musl_named('node'), ['--perf-basic-prof', '-e', NODE_BUSY])
    r = run(cspy, 'record', '-d', '2', '--max-pause', '50%', '-f', 'folded', '-o', '-', c.pid)
    os.unlink(c.root + '/tmp/perf-1.map')
    assert r.code == 0 and share(folded(r.out), 'hot') > 0.9, r


def test_one_static_file_copied_to_musl_is_enough(static, target):
    c = Container(target, musl_named('python'), ['-c', BUSY, '100'])
    path = c.copy(static)
    code, out, err = c.run_own(path, 'dump', 1)
    assert code == 0 and '<module>' in out, err
    code, out, err = c.run_own(path, 'record', '-d', '1', '-f', 'folded', '-o', '-', 1)
    assert code == 0 and share(folded(out), 'hot') > 0.9, err
