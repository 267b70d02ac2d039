"""Recording what a JIT runs, by the map that it writes: Node, CPython, a JVM, and any other that lies at the same place."""
import json
import math
import os
import shutil
import subprocess
import tempfile
import time

import pytest

import cli
import runtimes

PROGRAM = 'fixtures/targets/node/functions.js'
# Rates are held back where pauses take long, as on a machine that is busy; here samples are wanted.
OPTIONS = ('-f', 'folded', '-o', '-', '--max-pause', '50%', '-r', '500')
PERF = '--perf-basic-prof'
# What is inlined has no frame of its own, and no map tells of it.
APART = '--no-turbo-inlining'
FLAGS = {
    'all': [PERF, APART],
    'only-functions': ['--perf-basic-prof-only-functions', APART],
    'interpreted': [PERF, '--no-opt', '--no-sparkplug'],
    'baseline': [PERF, '--no-opt', '--always-sparkplug'],
    'interpreted-frames': [PERF, '--interpreted-frames-native-stack', '--no-opt'],
}
ONE_VERSION = 'interpreted', 'baseline'  # to save time: the others meet these frames, too
MAGLEV = (22, 0)  # has its switches from here on


def flags_for(node, kind):
    flags = list(FLAGS[kind])
    if node.version >= MAGLEV:
        flags.append('--no-maglev' if '--no-opt' in flags else '--no-maglev-inlining')
    return flags


@pytest.fixture
def maps():
    """Removes perf maps, and temporary folders, when the test is over: a list of them."""
    paths = []
    yield paths
    for path in paths:
        if not isinstance(path, str):
            path.cleanup()
        elif os.path.lexists(path):
            os.remove(path)


def start_node(target, maps, node, flags):
    folder = tempfile.TemporaryDirectory()
    maps.append(folder)
    # V8 writes logs where it is.
    t = target([*node.argv, *flags, node.place(PROGRAM)], cwd=folder.name)
    maps.append('/tmp/perf-%d.map' % t.pid)
    return t, json.loads(t.line())


def record(cspy, pid, *options, seconds=2, enough=100):
    """Again and longer until there are samples enough: a busy machine gives few of them."""
    while True:
        r = cli.run(cspy, 'record', '-p', pid, '-d', seconds, *OPTIONS, *options)
        assert r.code == 0, r
        stacks = cli.folded(r.out)
        if sum(stacks.values()) >= enough:
            return stacks
        seconds *= 2
        assert seconds < 60, r


def frame_of(stacks, name):
    """The labels that this function is shown by."""
    return {f for stack in stacks for f in stack if f.rpartition(' (')[0] == name}


def check_truth(stacks, truth):
    total = sum(stacks.values())
    by_leaf = {}
    for stack, n in stacks.items():
        by_leaf[stack[-1]] = by_leaf.get(stack[-1], 0) + n
    for entry in truth:
        name = entry['name'].replace(';', ':')
        assert frame_of(stacks, name) == {'%s (functions.js:%d)' % (name, entry['line'])}, (name, sorted(by_leaf))
        with_it = sum(n for stack, n in stacks.items() if stack[-1].startswith(name + ' ('))
        share, wanted = with_it / total, 1 / len(truth)
        # Four deviations of chance, and what the program itself, the collector and the loader take.
        assert abs(share - wanted) < 0.03 + 4 * math.sqrt(wanted * (1 - wanted) / total), (name, share, total, by_leaf)
        for stack in stacks:
            if stack[-1].startswith(name + ' (') and len(entry['stack']) > 1:
                assert [f.rpartition(' (')[0] for f in stack[-len(entry['stack']):]] == entry['stack'], stack


KINDS = [(node, kind) for node in runtimes.nodes() for kind in FLAGS
         if kind not in ONE_VERSION or node is runtimes.nodes()[-1]]


@pytest.mark.parametrize('node, kind', KINDS, ids=['%s-%s' % (node.name, kind) for node, kind in KINDS])
def test_every_function_of_node_has_its_name_line_and_share(cspy, target, maps, node, kind):
    t, truth = start_node(target, maps, node, flags_for(node, kind))
    check_truth(record(cspy, t.pid, enough=250), truth)
    assert cli.is_alive(t)


@pytest.mark.parametrize('node', runtimes.nodes()[-1:], ids=lambda node: node.name)
def test_the_live_view_has_the_names_lines_and_shares_that_a_recording_has(cspy, target, maps, node):
    t, truth = start_node(target, maps, node, flags_for(node, 'all'))
    p = cli.begin(cspy, 'top', '--json', '--delay', '0.5', '--max-pause', '50%', '-r', '500', '-p', t.pid)
    try:
        table = {'samples': 0}
        while table['samples'] < 250:  # a busy machine gives few of them
            table = json.loads(p.stdout.readline())
    finally:
        p.terminate()
        cli.end(p)
    shown = {f['function']: f for f in table['functions']}
    total = sum(f['own'] for f in table['functions'])
    for entry in truth:
        f, wanted = shown[entry['name']], 1 / len(truth)
        assert f['file'].endswith('/functions.js') and f['line'] == entry['line'], f
        limit = 0.03 + 4 * math.sqrt(wanted * (1 - wanted) / table['samples'])
        assert abs(f['own'] / total - wanted) < limit, (f, total, table['samples'])
    assert any(row['name'].startswith('node') and row['state'] == 'run' for row in table['threads'])
    assert cli.is_alive(t)


def test_a_dump_shows_what_a_map_names_without_any_option(cspy, target, maps):
    node = runtimes.nodes()[-1]
    t, truth = start_node(target, maps, node, flags_for(node, 'all'))
    known = {e['name'] for e in truth}

    def whole():
        """One moment may find it between two functions."""
        r = cli.run(cspy, 'dump', '--json', '-p', t.pid)
        assert r.code == 0, r
        threads = {thread['os_thread_id']: thread for thread in json.loads(r.out)}
        frames = threads[t.pid]['frames']
        return frames and frames[0]['qualname'] in known and (threads, frames)

    threads, frames = cli.wait_for(whole)
    assert sorted(threads) == sorted(int(tid) for tid in os.listdir('/proc/%d/task' % t.pid))
    entry = next(e for e in truth if e['name'] == frames[0]['qualname'])
    assert frames[0]['filename'].endswith('/functions.js') and frames[0]['line'] == entry['line']
    assert 'main' in [f['qualname'] for f in frames] and not any(f['native'] for f in frames), frames
    r = cli.run(cspy, 'dump', '-s', '-p', t.pid)
    assert r.code == 0 and '1 process' in r.out and 'functions.js' in r.out, r
    r = cli.run(cspy, 'dump', '-n', '-p', t.pid)
    assert r.code == 0 and 'node::Start' in r.out, r
    r = cli.run(cspy, 'dump', '--nonblocking', '-p', t.pid)
    assert r.code == 1 and len(r.lines) == 1 and '--nonblocking' in r.lines[0], r
    assert cli.is_alive(t)


@pytest.fixture
def dumps():
    """Folders that nodes write their dumps to, removed when the test is over."""
    folders = []
    yield folders
    for folder in folders:
        folder.cleanup()


def start_dumping(target, dumps, node, flags):
    """A Node whose functions have all come to stand in its dump."""
    dumps.append(tempfile.TemporaryDirectory())
    t = target([*node.argv, '--perf-prof', '--interpreted-frames-native-stack', *flags, node.place(PROGRAM), 'fill'],
               cwd=dumps[-1].name)
    truth = json.loads(t.line())
    assert t.line(60) == 'filled'
    assert not os.path.exists('/tmp/perf-%d.map' % t.pid)
    return t, truth


@pytest.mark.parametrize('node', runtimes.nodes(), ids=lambda node: node.name)
def test_every_function_of_node_is_named_by_its_dump(cspy, target, dumps, node):
    # What is compiled again later waits for V8 to write it: so all is interpreted, each function by code of its own.
    flags = ['--no-opt', '--no-sparkplug', *(['--no-maglev'] if node.version >= MAGLEV else [])]
    t, truth = start_dumping(target, dumps, node, flags)
    check_truth(record(cspy, t.pid, seconds=1, enough=150), truth)
    assert cli.is_alive(t)


def last_line(name, truth):
    """Of a function of functions.js, at most."""
    first = next(e['line'] for e in truth if e['name'] == name)
    return min([e['line'] - 1 for e in truth if e['line'] > first] + [first + 6])


def test_compiled_code_has_names_and_lines_by_a_dump_and_native_frames_around(cspy, target, dumps):
    node = runtimes.nodes()[-1]
    t, truth = start_dumping(target, dumps, node, flags_for(node, 'all')[1:])
    stacks = record(cspy, t.pid, '-n', enough=150)
    lines = {}
    for entry in truth:
        name = entry['name'].replace(';', ':')
        lines[name] = {int(f.rpartition(':')[2].rstrip(')')) - entry['line'] for f in frame_of(stacks, name)}
        assert lines[name] and 0 <= min(lines[name]), (name, lines[name])
        assert entry['line'] + max(lines[name]) <= last_line(entry['name'], truth), (name, lines[name])
    assert any(max(found) > 0 for found in lines.values()), lines  # within, not only where functions begin
    inner = [names(s) for s in stacks if 'inner' in names(s) and 'main' in names(s)]
    assert inner, stacks
    for stack in inner:
        assert stack.index('node::Start') < stack.index('JSEntry') < stack.index('main') < stack.index('inner'), stack


def helper(cspy, name):
    """A program that the build puts beside the cspy under test."""
    return os.path.join(os.path.dirname(cspy), 'tests', 'live', name)


def names(stack):
    return [frame.rpartition(' (')[0] or frame for frame in stack]


def test_code_that_is_replaced_keeps_the_name_that_it_had(cspy, target, maps):
    t = target([helper(cspy, 'jit_moving')])
    maps.append('/tmp/perf-%d.map' % t.pid)
    try:
        assert t.line() == 'ready'
    except EOFError:
        pytest.skip('jit_moving knows no code for this machine')
    stacks = record(cspy, t.pid, '-n')
    both = cli.share(stacks, 'made_a') + cli.share(stacks, 'made_b')
    for made, work in ('made_a', 'work_a'), ('made_b', 'work_b'):
        # Turns and looks may keep step for a while.
        assert 0.25 < cli.share(stacks, made) / both < 0.75, stacks
        for stack in stacks:
            assert (made in stack) == (work in names(stack)) or stack[-1] in ('made_a', 'made_b'), stack
    # Without -n, its functions alone.
    alone = [s for s in record(cspy, t.pid, seconds=1) if 'made_a' in s or 'made_b' in s]
    assert sorted(alone) == [('made_a',), ('made_b',)], alone


def test_node_may_be_told_to_write_its_map_elsewhere(cspy, target, maps, tmp_path):
    nodes = [n for n in runtimes.nodes() if n.version >= (22, 0)]
    if not nodes:
        pytest.skip('there is no Node that has the switch')
    t, truth = start_node(target, maps, nodes[0], [*flags_for(nodes[0], 'all'), '--perf-basic-prof-path=%s' % tmp_path])
    assert not os.path.exists('/tmp/perf-%d.map' % t.pid)
    stacks = record(cspy, t.pid, enough=20)
    assert any(frame_of(stacks, entry['name']) for entry in truth), stacks


def test_native_and_javascript_frames_stand_in_one_stack(cspy, target, maps):
    node = runtimes.nodes()[-1]
    t, truth = start_node(target, maps, node, flags_for(node, 'all'))
    stacks = record(cspy, t.pid, '-n')
    inner = [names(s) for s in stacks if 'inner' in names(s)]
    assert inner, stacks
    for stack in inner:
        assert stack.index('node::Start') < stack.index('JSEntry') < stack.index('main') < stack.index('outer'), stack


@pytest.mark.parametrize('switch, since, path', [('perf', (3, 12), 'perf-%d.map'), ('perf_jit', (3, 13), 'jit-%d.dump')])
def test_python_is_not_shown_twice_by_its_own_map(cspy, target, maps, switch, since, path):
    pythons = [p for p in runtimes.pythons() if p.version >= since and not p.debug and not p.nogil]
    if not pythons:
        pytest.skip('there is no Python that knows -X %s' % switch)
    python = pythons[-1]
    # The file is written in pieces: what comes behind pushes the functions out that are wanted.
    program = cli.BUSY.replace('print("ready")', 'main(0)\nhot(1)\nfor i in range(300): exec("def f(): pass\\nf()")\nprint("ready")')
    t = target([*python.argv, '-X', switch, '-c', program, '60'])
    maps.append('%s/tmp/%s' % (python.root or '', path % t.pid))
    assert t.line() == 'ready'
    cli.wait_for(lambda: b'py::hot:' in open(maps[-1], 'rb').read())
    stacks = record(cspy, t.pid, '-n')
    busy = [s for s in stacks if any(f.startswith('hot (') for f in s)]
    assert busy, stacks
    for stack in busy:
        assert names(stack).count('hot') == names(stack).count('main') == 1, stack
        assert '[jit]' not in stack and not any('py::' in f for f in stack), stack


def start_java(target, maps):
    for program in 'java', 'jcmd':
        if not shutil.which(program):
            pytest.skip('there is no %s here' % program)
    t = target(['java', '-XX:+PreserveFramePointer', '-XX:CompileCommand=quiet',
                '-XX:CompileCommand=dontinline,Functions::*',
                os.path.join(runtimes.ROOT, 'fixtures', 'targets', 'java', 'Functions.java')])
    maps.append('/tmp/perf-%d.map' % t.pid)
    assert t.line(60) == 'ready'
    return t


def write_java_map(t):
    subprocess.run(['jcmd', str(t.pid), 'Compiler.perfmap'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60, check=True)


JAVA = ['Functions.main(java.lang.String[])', 'Functions.middle(int)', 'Functions.leaf(int)']


def test_a_map_that_comes_late_names_java(cspy, target, maps):
    t = start_java(target, maps)

    def calls():
        """What each stack has of the program."""
        recording = cli.begin(cspy, 'record', '-n', '-p', t.pid, *OPTIONS)
        time.sleep(0.5)
        write_java_map(t)
        result = cli.stop(recording, after=2)
        assert result.code == 0, result
        return [[f for f in names(s) if f.startswith('Functions.')] for s in cli.folded(result.out)]

    def whole():
        # A map is of one moment: what is compiled later, as all is at first, is not in it.
        found = calls()
        return JAVA in found and found

    for stack in cli.wait_for(whole, 60):
        assert stack == [f for f in JAVA if f in stack], stack


# In a namespace of mounts and one of processes, below a root of its own with a /tmp of its own.
CONTAINER = '''
set -e
mount --make-rprivate /
mount -t tmpfs none "$1"
cd "$1"
for folder in usr lib lib64 node; do mkdir $folder; done
mkdir proc tmp
for folder in usr lib lib64; do mount --bind /$folder $folder; done
mount --bind "$2" node
mount -t proc none proc
cp "$3" tmp/functions.js
exec chroot . /node/bin/node --perf-basic-prof --no-opt /tmp/functions.js
'''


def test_a_map_is_found_through_chroot_and_namespaces(cspy, target, tmp_path):
    if os.getuid() != 0 or not runtimes.nodes():
        pytest.skip('a container needs root, and a Node in it')
    node = runtimes.nodes()[0]
    t = target(['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', CONTAINER, 'sh', tmp_path,
                os.path.dirname(os.path.dirname(node.executable)), os.path.join(runtimes.ROOT, PROGRAM)])
    truth = json.loads(t.line())
    with open('/proc/%d/task/%d/children' % (t.pid, t.pid)) as f:
        pid = int(f.read().split()[0])
    assert not os.path.exists('/tmp/perf-%d.map' % pid)
    assert os.path.exists('/proc/%d/root/tmp/perf-1.map' % pid)
    check_truth(record(cspy, pid, enough=250), truth)


@pytest.fixture(scope='module', autouse=True)
def sleeping():
    """No JIT at all. It starts before all tests, since cspy waits for young processes."""
    p = subprocess.Popen(['sleep', '1000'])
    yield p
    p.kill()
    p.wait()


@pytest.mark.parametrize('what', ['pipe', 'link', 'folder', 'other'])
def test_what_is_no_map_is_left_alone(cspy, sleeping, maps, tmp_path, what):
    maps.append('/tmp/perf-%d.map' % sleeping.pid)
    if what == 'pipe':
        os.mkfifo(maps[0])
    elif what == 'folder':
        os.mkdir(maps[0])
    elif what == 'link':
        (tmp_path / 'map').write_text('1000 10 name\n')
        os.symlink(str(tmp_path / 'map'), maps[0])
    else:
        if os.getuid() != 0:
            pytest.skip('only root gives files away')
        with open(maps[0], 'w') as f:
            f.write('1000 10 name\n')
        os.chown(maps[0], 65534, 65534)
    try:
        r = cli.run(cspy, 'record', '-p', sleeping.pid, '-d', 1, '-f', 'folded', '-o', '-')
    finally:
        if what == 'folder':
            os.rmdir(maps.pop())
    assert r.code == 4 and 'no interpreter that cspy knows' in r.err, r
    assert sleeping.poll() is None


def test_without_pauses_native_stacks_are_refused_in_one_line(cspy, target, maps):
    node = runtimes.nodes()[-1]
    t, _ = start_node(target, maps, node, [PERF])
    r = cli.run(cspy, 'record', '-p', t.pid, '-d', 1, '--nonblocking', '-f', 'folded', '-o', '-')
    assert r.code == 1 and '--nonblocking' in r.err, r
    assert cli.is_alive(t)
