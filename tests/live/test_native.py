"""Native stacks: against libdwfl and libunwind-ptrace on the same stops, their names, and in one stack with Python's and Ruby's frames."""
import os
import shutil
import subprocess

import pytest
import runtimes
from cli import folded, need, run, stats

TARGETS = os.path.join(runtimes.ROOT, 'fixtures', 'targets', 'native')
STOPS = 1000
STEPS = 20000

NODE = '''
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function parse(s) { return JSON.parse(s).a.map(x => x * 2).reduce((a, b) => a + b) }
const s = JSON.stringify({ a: [...Array(500).keys()] });
let t = 0;
function round() { t += fib(18) + parse(s); [5, 3, 1, 9].sort((a, b) => a - b); "abcabc".replace(/b/g, () => t) }
for (let i = 0; i < 300; i++) round();
console.log("ready");
for (;;) round();
'''

PYTHON = '''
import json, re, sys, zlib
def key(x): return -x
def work():
    json.loads(json.dumps({'a': list(range(300))}))
    re.sub('a', 'b', 'abc' * 50)
    sorted(range(100), key=key)
    zlib.compress(b'abcdefgh' * 2000)
work()
print('ready')
sys.stdout.flush()
while True: work()
'''

NUMPY = '''
import sys
import numpy
def multiply(a): return numpy.dot(a, a)
def order(a): return numpy.sort(a, axis=None)
a = numpy.random.rand(120, 120)
def work():
    multiply(a)
    order(a)
work()
print('ready')
sys.stdout.flush()
while True: work()
'''

CEXT = '''
import sys, threading
sys.path.insert(0, sys.argv[1])
import cext
def inner(): cext.work(200000)
def outer(): cext.back(inner)
def free():
    while True: cext.release(200000)
t = threading.Thread(target=free)
t.daemon = True
t.start()
print('ready')
sys.stdout.flush()
while True: outer()
'''

CYTHON = '''
import sys
sys.path.insert(0, sys.argv[1])
import loops
worker = loops.Worker()
def inner(): loops.work(200000)
def outer(): loops.back(inner)
def other(): worker.run(200000)
print('ready')
sys.stdout.flush()
while True:
    outer()
    other()
'''

RUBY = '''
require "zlib"
def pack(s) = Zlib::Deflate.deflate(s)
def keys(a) = a.sort_by { |x| pack(x) }
s = "abcdefgh" * 3000
$stdout.puts "ready"
$stdout.flush
loop { pack(s); keys([s, "b", "c"]) }
'''


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    """Path of a program out of fixtures/targets/native, compiled when it is asked for first."""
    folder = tmp_path_factory.mktemp('native')
    compilers = {
        'deep.cpp': lambda src, out: [need('g++'), '-O2', '-o', out, src],
        'threads.c': lambda src, out: [need('gcc'), '-O2', '-pthread', '-o', out, src],
        'work.rs': lambda src, out: [need('rustc'), '-O', '-o', out, src],
        'work.go': lambda src, out: [need('go'), 'build', '-o', out, src],
    }

    def build(name):
        out = str(folder / name.replace('.', '_'))
        if not os.path.exists(out):
            env = dict(os.environ, GO111MODULE='off')
            subprocess.run(compilers[name](os.path.join(TARGETS, name), out), check=True, env=env)
        return out
    return build


def helper(name, *args):
    """What a program says that the build puts beside the cspy under test, as a dict; its complaints are shown when the test
    fails."""
    path = os.path.join(os.path.dirname(os.environ.get('CSPY') or os.path.join(runtimes.ROOT, 'build', 'cspy')),
                        'tests', 'live', name)
    p = subprocess.run([path, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, timeout=120)
    print(p.stderr)
    words = p.stdout.split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}


def start_numpy(target):
    python = next((p for p in runtimes.pythons() if p.name == 'py3.13-trixie'), None)
    # The packages are unpacked, not set up: nobody has chosen a BLAS.
    libraries = '/usr/lib/x86_64-linux-gnu/'
    env = dict(os.environ, LD_LIBRARY_PATH='%sblas:%slapack' % (libraries, libraries))
    if not python or subprocess.run([*python.argv, '-c', 'import numpy'], env=env, stderr=subprocess.DEVNULL).returncode:
        pytest.skip('py3.13-trixie has no numpy; fixtures/runtimes/fetch gets it')
    t = target([*python.argv, '-c', NUMPY], env=env)
    assert t.line() == 'ready'
    return t


def judge(t):
    return helper('unwind_judge', t.pid, STOPS)


def check_by_libunwind(said, same):
    """A second judge of the same stops, where the helper was built with it: how many it has as cspy has, at least. Where its own
    fault makes it differ (it reads no CFI of some files, and no code that has none), libdwfl is the witness for cspy."""
    if 'libunwind_same' in said:
        assert said['libunwind_against'] == 0, said
        assert sum(said['libunwind_' + kind] for kind in ('same', 'cut', 'alone', 'against')) == STOPS, said
        assert said['libunwind_same'] >= same, said


def record(cspy, t, tmp_path, *args, paths=()):
    """Stacks and statistics of a recording that has these paths: on a busy machine a second gives few samples, so that it is
    repeated some times for those that are rare."""
    out, said = tmp_path / 'out', tmp_path / 'stats'
    stacks = {}
    for _ in range(8):
        # A budget that leaves room: how much a pause costs on a busy machine is not what is tested.
        r = run(cspy, 'record', '-n', '--max-pause', '50%', '-d', '1', '-r', '200', '-f', 'folded', '-o', out,
                '--stats', said, '-p', t.pid, *args)
        assert r.code == 0, r
        for stack, n in folded(out.read_text()).items():
            stacks[stack] = stacks.get(stack, 0) + n
        if all(has_path(stacks, *path) for path in paths):
            return stacks, stats(said)
    raise AssertionError('no such path: %s\nin %s' % ([p for p in paths if not has_path(stacks, *p)], stacks))


def names(stack):
    return [frame.rpartition(' (')[0] if frame.endswith(')') else frame for frame in stack]


def place_of(frame):
    """"file:line" of a frame."""
    return frame.rpartition(' (')[2].rstrip(')')


def has_path(stacks, *path):
    """Is there a stack with these functions in this order from root to leaf, others between them allowed?"""
    for stack in stacks:
        rest = iter(names(stack))
        if all(any(f == wanted for f in rest) for wanted in path):
            return True
    return False


# ---- Against libdwfl and libunwind-ptrace ----

@pytest.mark.parametrize('program', ['deep.cpp', 'work.rs', 'work.go'])
def test_native_stacks_are_those_of_libdwfl(program, built, target):
    t = target([built(program), '60'])
    assert t.line() == 'ready'
    said = judge(t)
    assert said['stops'] == STOPS
    assert said['same'] + said['settled'] == STOPS
    # Go changes stacks, and C++ throws by leaving its own: what is lost there is so for libdwfl, too.
    assert said['lost'] < STOPS * (0.3 if program == 'work.go' else 0.1)
    check_by_libunwind(said, STOPS * 0.9 if program == 'deep.cpp' else 0)


def test_python_stacks_are_those_of_libdwfl(target):
    t = target(['/usr/bin/python3', '-c', PYTHON])
    assert t.line() == 'ready'
    said = judge(t)
    assert (said['stops'], said['same'], said['lost']) == (STOPS, STOPS, 0)
    check_by_libunwind(said, STOPS * 0.99)


def test_there_is_a_second_judge(target):
    t = target(['/usr/bin/python3', '-c', PYTHON])
    assert t.line() == 'ready'
    if 'libunwind_same' not in helper('unwind_judge', t.pid, 2):
        pytest.skip('unwind_judge was built without libunwind-ptrace')


def test_node_stacks_are_those_of_libdwfl_but_for_leaves_in_their_first_instructions(target):
    t = target([need('node'), '-e', NODE])
    assert t.line() == 'ready'
    said = judge(t)
    assert said['stops'] == STOPS
    # libdwfl does not follow a process that makes new mappings of code between two stops.
    assert said['same'] + said['settled'] > STOPS * 0.97
    assert said['same'] > said['settled']
    if 'libunwind_same' in said:
        assert said['libunwind_same'] > STOPS * 0.5 and said['libunwind_against'] < STOPS * 0.03, said


def test_numpy_stacks_are_those_of_libdwfl(target):
    t = start_numpy(target)
    said = judge(t)
    assert (said['stops'], said['same'], said['lost']) == (STOPS, STOPS, 0)
    check_by_libunwind(said, 0)  # it looks for the files of a chroot outside of it


# ---- At each instruction ----

@pytest.mark.parametrize('program', ['deep.cpp', 'work.rs', 'python'])
def test_each_instruction_has_the_callers_whose_calls_were_seen(program, built, target):
    t = target(['/usr/bin/python3', '-c', PYTHON] if program == 'python' else [built(program), '60'])
    assert t.line() == 'ready'
    said = helper('unwind_steps', t.pid, STEPS)
    if not said['steps']:
        pytest.skip('unwind_steps does not know how this machine calls')
    assert said['steps'] >= STEPS
    assert said['calls'] > 0
    assert said['same'] + said['thrown'] == said['steps']
    assert said['thrown'] < (said['steps'] * 0.2 if program == 'deep.cpp' else 1)


# ---- Processes without an interpreter ----

def test_functions_of_cplusplus_are_named_under_their_callers(cspy, built, target, tmp_path):
    t = target([built('deep.cpp'), '60'])
    assert t.line() == 'ready'
    _, said = record(cspy, t, tmp_path, paths=[
        ('main', 'rounds', 'shapes::sorter', 'shapes::compare', 'shapes::Level<0>::down'),
        ('main', 'rounds', 'aligned', 'shapes::Level<0>::down')])
    assert said['paused'] > 0
    assert said['lost'] <= said['samples'] * 0.1


@pytest.mark.parametrize('program,path', [
    ('work.rs', ['main', 'work::main', 'work::rounds', 'work::sorted', 'work::shapes::leaf']),
    ('work.go', ['runtime.goexit.abi0', 'main.rounds', 'main.sorted', 'main.leaf']),
])
def test_functions_of_other_languages_are_named(program, path, cspy, built, target, tmp_path):
    t = target([built(program), '60'])
    assert t.line() == 'ready'
    record(cspy, t, tmp_path, paths=[path])


def test_each_running_thread_has_its_stacks_and_a_sleeping_one_is_not_woken(cspy, built, target, tmp_path):
    t = target([built('threads.c')])
    assert t.line() == 'ready'
    stacks, _ = record(cspy, t, tmp_path, '-t', paths=[('first_work', 'spin'), ('second_work', 'spin')])
    assert not has_path(stacks, 'sleeper')
    assert len({s[0] for s in stacks}) == 2
    with pytest.raises(TimeoutError):
        t.line(seconds=0.1)  # "interrupted"


def test_inlined_functions_are_named_and_all_have_lines_where_the_program_has_debug_information(cspy, target, tmp_path):
    source, program = os.path.join(TARGETS, 'deep.cpp'), str(tmp_path / 'deep')
    subprocess.run([need('g++'), '-O2', '-g', '-o', program, source], check=True)
    t = target([program, '60'])
    assert t.line() == 'ready'
    levels = ['shapes::Level<%d>::down [inlined]' % n for n in range(12, 0, -1)]
    stacks, _ = record(cspy, t, tmp_path, paths=[('main', 'rounds', 'aligned', *levels, 'shapes::Level<0>::down')])
    with open(source) as f:
        text = f.read().splitlines()
    for frame in {f for s in stacks for f in s}:
        if frame.startswith('shapes::Level<') and '[inlined]' in frame:
            name, line = place_of(frame).split(':')
            assert (name, text[int(line) - 1].strip()) == ('deep.cpp', 'return Level<N - 1>::down(x * 2654435761u + N);'), frame
        if frame.startswith('main ('):
            assert text[int(place_of(frame).split(':')[1]) - 1].strip().startswith('rounds('), frame


def test_stripped_program_is_named_by_module_and_offset(cspy, built, target, tmp_path):
    program = str(tmp_path / 'naked')
    subprocess.run([need('strip'), '-o', program, built('deep.cpp')], check=True)
    t = target([program, '60'])
    assert t.line() == 'ready'
    stacks, _ = record(cspy, t, tmp_path)
    assert any(f.startswith('naked+0x') for s in stacks for f in names(s))
    assert not has_path(stacks, 'rounds')


def without_symbols(how, program, out):
    """A Go program that was stripped in one of the ways there are."""
    if how == 'linked':
        source = os.path.join(TARGETS, 'work.go')
        subprocess.run(['go', 'build', '-ldflags', '-s -w', '-o', out, source], check=True, env=dict(os.environ, GO111MODULE='off'))
        return
    subprocess.run([need('strip'), '-o', out, program], check=True)
    if how == 'no-sections':
        with open(out, 'r+b') as f:
            f.seek(0x28)
            f.write(bytes(8))   # e_shoff
            f.seek(0x3c)
            f.write(bytes(4))   # e_shnum, e_shstrndx


@pytest.mark.parametrize('how', ['linked', 'strip', 'no-sections'])
def test_stripped_go_is_named_by_its_own_table(how, cspy, built, target, tmp_path):
    program = str(tmp_path / 'naked')
    without_symbols(how, built('work.go'), program)
    t = target([program, '60'])
    assert t.line() == 'ready'
    stacks, _ = record(cspy, t, tmp_path, paths=[['runtime.goexit', 'main.rounds', 'main.sorted', 'sort.Slice', 'main.leaf'],
                                                 ['runtime.main', 'main.main', 'main.rounds']])
    assert not any(f.startswith('naked+') for s in stacks for f in names(s)), stacks
    with open(os.path.join(TARGETS, 'work.go')) as f:
        text = f.read().splitlines()
    first = text.index('func leaf(x uint64) uint64 {')
    places = {place_of(f) for s in stacks for f in s if f.startswith('main.leaf (')}
    assert places and all(p.startswith('work.go:') and first < int(p.split(':')[1]) <= first + 6 for p in places), places
    calls = {place_of(f) for s in stacks for f in s[:-1] if f.startswith('main.sorted (')}
    wanted = [i for i, line in enumerate(text, 1) if 'sort.Slice' in line]
    assert 'work.go:%d' % wanted[0] in calls, calls


def test_symbols_that_are_compressed_inside_are_found(cspy, built, target, tmp_path):
    whole, program, debug = built('deep.cpp'), str(tmp_path / 'packed'), str(tmp_path / 'mini')
    subprocess.run([need('objcopy'), '--only-keep-debug', whole, debug], check=True)
    subprocess.run([need('xz'), '-f', debug], check=True)
    subprocess.run(['strip', '-o', program + '.naked', whole], check=True)
    subprocess.run(['objcopy', '--add-section', '.gnu_debugdata=' + debug + '.xz', program + '.naked', program], check=True)
    t = target([program, '60'])
    assert t.line() == 'ready'
    record(cspy, t, tmp_path, paths=[('main', 'rounds', 'shapes::sorter')])


def test_a_command_is_started_and_recorded(cspy, built, tmp_path):
    out = tmp_path / 'out'
    r = run(cspy, 'record', '-n', '--max-pause', '50%', '-f', 'folded', '-o', out, '--', built('deep.cpp'), '2')
    assert r.code == 0, r
    assert has_path(folded(out.read_text()), 'main', 'rounds')


def test_without_native_a_program_in_c_is_refused_with_the_way_out(cspy, built, target, tmp_path):
    t = target([built('threads.c')])
    assert t.line() == 'ready'
    r = run(cspy, 'record', '-d', '1', '-o', tmp_path / 'out.svg', '-p', t.pid)
    assert r.code != 0
    assert len(r.lines) == 1 and '-n' in r.lines[0]


def test_native_and_nonblocking_exclude_each_other(cspy):
    r = run(cspy, 'record', '-n', '--nonblocking', '-p', os.getpid())
    assert r.code == 2
    assert 'stopped' in r.lines[0]


def test_the_budget_lowers_the_rate_and_the_summary_says_so(cspy, built, target, tmp_path):
    t = target([built('deep.cpp'), '60'])
    assert t.line() == 'ready'
    said_at = tmp_path / 'stats'
    r = run(cspy, 'record', '-n', '-r', '10000', '-d', '1', '-f', 'folded', '-o', '/dev/null', '--stats', said_at, '-p',
            t.pid)
    said = stats(said_at)
    assert said['held_back'] > 0
    assert said['paused'] == said['ticks']
    assert any('--max-pause' in line and 'nonblocking' not in line for line in r.lines), r


# ---- In one stack with an interpreter's frames ----

def include_of(python):
    return subprocess.run([*python.argv, '-c', 'import sysconfig; print(sysconfig.get_paths()["include"])'],
                          stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.strip()


def extension_for(python, folder):
    """Compile cext.c for this Python; its folder. Skips where it has no headers."""
    said = subprocess.run([*python.argv, '-c', 'import sysconfig; print(sysconfig.get_paths()["include"]); '
                           'print(sysconfig.get_config_var("EXT_SUFFIX"))'], stdout=subprocess.PIPE,
                          universal_newlines=True, check=True).stdout.split()
    if python.root or not os.path.exists(said[0] + '/Python.h'):
        pytest.skip('%s has no headers to compile an extension with' % python.name)
    subprocess.run([need('gcc'), '-O2', '-g0', '-shared', '-fPIC', '-I', said[0], '-o', '%s/cext%s' % (folder, said[1]),
                    os.path.join(TARGETS, 'cext.c')], check=True)
    return folder


def test_functions_of_a_python_extension_are_under_their_callers(python, cspy, target, tmp_path):
    if python.version < (3, 6):
        pytest.skip('the extension is for Python 3')
    folder = extension_for(python, tmp_path)
    t = target([*python.argv, '-c', CEXT, folder])
    assert t.line() == 'ready'
    # Python calls C calls Python calls C; and a thread that runs without the lock.
    stacks, said = record(cspy, t, tmp_path, paths=[
        ('<module>', 'outer', 'cext_back', 'inner', 'cext_work', 'grind'), ('free', 'cext_release', 'grind')])
    assert not has_path(stacks, 'main') and not has_path(stacks, '_PyEval_EvalFrameDefault')
    assert said['merged'] > 9 * said['unmerged']


def test_functions_of_a_cython_module_have_lines_of_its_source_under_their_callers(cspy, target, tmp_path):
    # Debian's Cython knows Pythons up to 3.11; later ones make code for all.
    python = next((p for p in reversed(runtimes.pythons()) if (3, 6) <= p.version < (3, 12) and not p.root
                   and os.path.exists(include_of(p) + '/Python.h')), None)
    if not python:
        pytest.skip('there is no Python up to 3.11 with headers to compile an extension with')
    source = str(tmp_path / 'loops.c')
    shutil.copy(os.path.join(TARGETS, 'loops.pyx'), str(tmp_path))
    subprocess.run([need('cython3'), '--line-directives', '-o', source, 'loops.pyx'], cwd=str(tmp_path), check=True)
    subprocess.run([need('gcc'), '-O2', '-g', '-shared', '-fPIC', '-I', include_of(python), '-o', str(tmp_path / 'loops.so'), source],
                   check=True)
    t = target([*python.argv, '-c', CYTHON, tmp_path])
    assert t.line() == 'ready'
    stacks, said = record(cspy, t, tmp_path, paths=[
        ('<module>', 'outer', '__pyx_pw_5loops_3back', 'inner', '__pyx_pw_5loops_1work'),
        ('<module>', 'other', '__pyx_pw_5loops_6Worker_1run')])
    with open(os.path.join(TARGETS, 'loops.pyx')) as f:
        lines = {text.strip(): number for number, text in enumerate(f, 1)}
    loop = {'loops.pyx:%d' % lines[text] for text in ('for i in range(n):', 'sink = sink * 31 + i')}
    found = {place_of(f) for s in stacks for f in s if f.startswith('__pyx_f_5loops_grind')}
    assert loop & found, found
    callers = {place_of(f) for s in stacks for f in s if f.startswith('__pyx_pf_5loops_work')}
    assert callers <= {'loops.pyx:%d' % lines['return grind(n)'], 'loops.pyx:%d' % lines['def work(n):']}, callers
    assert said['merged'] > 9 * said['unmerged']


def test_numpy_is_under_its_callers(cspy, target, tmp_path):
    t = start_numpy(target)
    stacks, said = record(cspy, t, tmp_path, paths=[('order',), ('multiply',)])
    assert any('_multiarray_umath' in frame for s in stacks if 'order' in names(s) for frame in s), stacks
    assert any('blas' in frame for s in stacks if 'multiply' in names(s) for frame in s), stacks
    assert said['merged'] > 9 * said['unmerged']


def test_functions_of_a_ruby_extension_are_under_their_callers(ruby, cspy, target, tmp_path):
    program = RUBY if ruby.version >= (3, 0) else RUBY.replace(') = ', ') ').replace('deflate(s)\n', 'deflate(s) end\n') \
        .replace('pack(x) }\n', 'pack(x) } end\n')
    t = target([*ruby.argv, '-e', program])
    assert t.line() == 'ready'
    _, said = record(cspy, t, tmp_path, paths=[
        ('<main>', 'Object#pack', 'Zlib::Deflate.deflate', 'deflate'),
        ('<main>', 'Object#keys', 'block in Object#keys', 'Object#pack', 'Zlib::Deflate.deflate')])
    assert said['merged'] > 4 * said['unmerged']
