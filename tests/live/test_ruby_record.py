"""cspy record on Ruby: real programs, and what can't be read."""
import glob
import os
import re
import shutil
import subprocess
import time

import pytest
import runtimes
from cli import child_processes, run, wait_for
from load import Load, answers

SPIN = '''
def hot(n)
  i = 0
  i += 1 while i < n
end
def main
  loop { hot(20_000) }
end
$stdout.puts "ready"
$stdout.flush
main
'''


def ruby_command(ruby, program, *args):
    return [*ruby.argv, '-e', program, *args]


def folded(path):
    return {line.rpartition(' ')[0]: int(line.rpartition(' ')[2]) for line in path.read_text().splitlines()}


def test_time_goes_where_it_is_spent(ruby, cspy, target, tmp_path):
    t = target(ruby_command(ruby, SPIN))
    assert t.line() == 'ready'
    out = tmp_path / 'out'
    r = run(cspy, 'record', '-p', t.pid, '-d', '1', '-f', 'folded', '-o', out, '-q')
    assert r.code == 0, r
    stacks = folded(out)
    assert sum(n for s, n in stacks.items() if 'Object#hot (-e:' in s) > 0.95 * sum(stacks.values()) > 50
    assert all(s.startswith('<main> (-e:') for s in stacks)


LOCKED = '''
def holding
  loop { 1000.times { |n| n + 1 } }
end
def outside
  IO.copy_stream('/dev/zero', '/dev/null')
end
Thread.new { holding }
$stdout.puts "ready"
$stdout.flush
outside
'''


def test_the_lock_s_holder_alone_is_counted(ruby, cspy, target, tmp_path):
    """One thread computes; the other copies without the lock, and never comes back for it."""
    t = target(ruby_command(ruby, LOCKED))
    assert t.line() == 'ready'
    wait_for(lambda: 'IO.copy_stream' in run(cspy, 'dump', t.pid).out)

    def counts(*options):
        r = run(cspy, 'record', '-p', t.pid, '-d', '0.5', '-r', '500', '-f', 'folded', '-o', tmp_path / 'out', '-q', *options)
        assert r.code == 0, r
        stacks = folded(tmp_path / 'out')
        return [sum(n for s, n in stacks.items() if name in s) for name in ('Object#holding', 'IO.copy_stream')]
    wait_for(lambda: all(counts()), 60)     # a loaded machine may take seconds for a look that pauses
    locked = []
    wait_for(lambda: locked.append(counts('-g')) or locked[-1][0], 60)
    assert all(outside == 0 for _, outside in locked), locked


def test_a_program_is_started_and_followed_through_exec(ruby, cspy, tmp_path):
    """As shims and bundler do: a shell that becomes ruby."""
    out = tmp_path / 'out'
    program = 'def busy; 2_000_000.times { |n| n + 1 }; end\n20.times { busy }; exit 3'
    shell = 'exec "$@"'
    r = run(cspy, 'record', '--blocking', '-f', 'folded', '-o', out, '-q', '--', '/bin/sh', '-c', shell, 'sh', *ruby_command(ruby, program))
    assert r.code == 3, r  # the program's own status
    assert any('Object#busy' in s for s in folded(out))


def test_a_forked_worker_is_a_ruby(ruby, cspy, target, tmp_path):
    t = target(ruby_command(ruby, SPIN.replace('main\n', '', 0).rstrip().rpartition('\n')[0] +
                            '\npid = fork { main }\n$stdout.puts pid\n$stdout.flush\nsleep'))
    assert t.line() == 'ready'
    worker = int(t.line())

    def in_main():
        found = run(cspy, 'dump', worker)
        return found.code == 0 and 'Object#main (-e:' in found.out and found
    r = wait_for(in_main)
    assert '\nThread %d (active' % worker in r.out, 'its main thread is its own, not its parent\'s'
    r = run(cspy, 'dump', t.pid)
    assert r.code == 0 and 'Kernel#sleep' in r.out and 'Object#main' not in r.out, r


def test_any_moment_of_start_and_end_gives_a_dump_or_a_line(ruby, cspy, tmp_path):
    """Looked at ever later in its short life, to the end of it: never an abort, never a hang."""
    seen = set()
    for delay in range(0, 200, 8):
        p = subprocess.Popen(ruby_command(ruby, 'require "set"; x = (1..20000).map { |n| [n] }; x = nil; at_exit { GC.start }'),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(delay / 1000)
            r = run(cspy, 'dump', p.pid)
            assert r.code in (0, 4, 5), r
            assert r.code == 0 or len(r.lines) in (1, 2), r
            seen.add(r.code)
        finally:
            p.kill()
            p.wait()
    assert 0 in seen


def test_a_recording_ends_with_its_target(ruby, cspy, target, tmp_path):
    t = target(ruby_command(ruby, SPIN.replace('loop {', '30.times {')))
    assert t.line() == 'ready'
    out = tmp_path / 'out'
    r = run(cspy, 'record', '-p', t.pid, '-d', '20', '-f', 'folded', '-o', out, '-q')
    assert r.code in (0, 5), r


@pytest.fixture
def relabelled(ruby, target):
    """relabelled(version): the same Ruby, whose library says that it is of another version (as long as its own)."""
    folder = '/tmp/cspy-relabelled-%d' % os.getpid()
    found = glob.glob((ruby.root or '') + '/usr/lib/*/libruby*-%d.%d.so.%d.%d' % (ruby.version[:2] * 2))

    def start(version):
        if not found:
            pytest.skip('the library of %s is not where Debian has it' % ruby.name)
        outside = (ruby.root or '') + folder
        os.makedirs(outside, exist_ok=True)
        own = b'\0%s\0' % '.'.join(map(str, ruby.version)).encode()
        with open(found[0], 'rb') as f, open('%s/%s' % (outside, os.path.basename(found[0])), 'wb') as to:
            to.write(f.read().replace(own, b'\0%s\0' % version.encode()))
        t = target([*ruby.argv, '--disable-gems', '-e', SPIN], env={**os.environ, 'LD_LIBRARY_PATH': folder})
        assert t.line() == 'ready'
        return t
    yield start
    shutil.rmtree((ruby.root or '') + folder, ignore_errors=True)


def other_versions(ruby):
    """Of this one's length: a patch level that there is not, and a minor version that nobody has a layout for."""
    major, minor, patch = map(str, ruby.version)
    return ['.'.join((major, minor, '9' * len(patch))), '.'.join((major, '9', patch))]


def last_known(ruby):
    """The newest patch level of this minor version that a layout is known to fit."""
    rows = glob.glob(os.path.join(runtimes.ROOT, 'runtimes/ruby/layouts/%d.%d*.inc' % ruby.version[:2]))
    return max(int(re.search(r'\.known = (\d+)', open(row).read())[1]) for row in rows)


def test_a_version_without_a_layout_is_read_by_its_neighbour_s_or_refused(ruby, cspy, relabelled):
    for version in other_versions(ruby):
        t = relabelled(version)
        r = run(cspy, 'dump', t.pid)
        patched = not version.startswith('%d.9.' % ruby.version[0])
        known = patched and int(version.rpartition('.')[2]) <= last_known(ruby)
        if patched or r.code == 0:
            assert r.code == 0 and re.search(r'^    <main> \(-e:1[01]\)$', r.out, re.M), r
            assert r.out.count('unknown version, read as %d.' % ruby.version[0]) == (0 if known else 1), r
        else:
            assert r.code == 4 and 'Ruby %s is not known' % version in r.err and len(r.lines) <= 2, r


OTHER_RUBIES = [
    ('TruffleRuby', 'truffleruby/lib/librubyvm.so', ['sleep', '60']),
    ('JRuby', 'jvm/libjvm.so', ['sh', '-c', 'read x', 'jruby.jar']),
]


def test_other_rubies_are_named(cspy, target, tmp_path):
    """Told by the libraries that they load and how they are called; these are empty ones with the same names."""
    started = []
    for name, library, command in OTHER_RUBIES:
        path = tmp_path / library
        path.parent.mkdir(parents=True)
        subprocess.run([os.environ.get('CC', 'cc'), '-shared', '-x', 'c', '-', '-o', path], input=b'int JNI_CreateJavaVM;', check=True)
        started.append((name, library, target(command, stdin=subprocess.PIPE, env={**os.environ, 'LD_PRELOAD': str(path)})))
    for name, library, t in started:
        wait_for(lambda: library in open('/proc/%d/maps' % t.pid).read())
        r = run(cspy, 'dump', t.pid)
        assert r.code == 4 and len(r.lines) <= 2 and 'this is %s' % name in r.lines[0], r


def test_a_real_jruby_is_named(cspy, target):
    if not runtimes.jrubies():
        pytest.skip('there is no JRuby here; fixtures/runtimes/fetch gets it')
    t = target([*runtimes.jrubies()[0].argv, '-e', '$stdout.puts "ready"; $stdout.flush; sleep'])
    assert t.line(60) == 'ready'
    for command in ['dump', t.pid], ['record', '-p', t.pid, '-d', '0.2', '-o', os.devnull]:
        r = run(cspy, *command)
        assert r.code == 4 and len(r.lines) <= 2 and 'this is JRuby' in r.lines[0], r


# ---- A real application ----

def test_puma_under_load_shows_the_application(cspy, target, tmp_path):
    """A cluster of two workers, started as most are: by bundler, which becomes it."""
    with_puma = [r for r in runtimes.rubies() if os.path.exists((r.root or '') + '/usr/bin/puma')]
    if not with_puma:
        pytest.skip('no Ruby here has puma')
    ruby = with_puma[0]
    app = ruby.place('fixtures/targets/ruby/shop.ru')
    folder = os.path.dirname(app)
    inside = os.path.join(folder, 'puma.sock')
    outside = (ruby.root or '') + inside
    with open((ruby.root or '') + folder + '/Gemfile', 'w') as f:
        f.write("gem 'puma'\n")
    t = target([*ruby.argv, '-C', folder, '/usr/bin/bundle%d.%d' % ruby.version[:2], 'exec', 'puma', '-w', '2', '-t', '3:3',
                '-b', 'unix://' + inside, app],
               env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'PWD': '/', 'HOME': folder, 'LANG': 'C.UTF-8'})

    wait_for(lambda: answers(outside), 60)
    workers = wait_for(lambda: len(child_processes(t.pid)) == 2 and child_processes(t.pid))
    worker, idle = workers[0], tmp_path / 'idle'

    def nobody_works():  # the second worker may be starting still
        r = run(cspy, 'record', '-p', worker, '-d', '1', '-f', 'folded', '-o', idle, '-q')
        return r.code == 0 and sum(folded(idle).values()) < 10
    wait_for(nobody_works)
    out, svg = tmp_path / 'out', tmp_path / 'out.svg'
    with Load(outside, clients=4):
        r = run(cspy, 'record', '-s', '-p', t.pid, '-d', '2', '-f', 'folded', '-o', out, '-q')
        assert r.code == 0, r
        r = run(cspy, 'record', '-p', worker, '-d', '1', '-o', svg, '-q')
        assert r.code == 0, r
    stacks = folded(out)
    for pid in workers:
        own = sum(n for s, n in stacks.items() if 'process %d: puma: cluster worker' % pid in s and 'Shop#call (shop.ru:' in s)
        assert own > 10, stacks
    assert all(s.startswith('2 processes: puma: cluster worker *') for s in stacks if 'Shop#' in s), stacks
    assert any('Shop#taxed (shop.ru:14)' in s and 'Integer#times' in s for s in stacks)
    text = svg.read_text()
    assert all(name in text for name in ('Shop#call', 'Shop#price', 'Shop#taxed', 'Puma::'))
