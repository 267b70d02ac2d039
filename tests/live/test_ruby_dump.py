"""cspy dump on Ruby against what programs say of themselves: every thread's name, id, stack and state."""
import json
import os
import re
import time

import pytest
from cli import run, wait_for

OWN_STACK = 'fixtures/targets/ruby/own_stack.rb'
RACTORS = 'fixtures/targets/ruby/ractors.rb'
STATES = 'fixtures/targets/ruby/states.rb'
CLAUSES = re.compile(r'^((rescue|ensure) in )+')
QUALIFIED = re.compile(r'(^|in )[A-Z][\w:]*[#.].')


def dump(cspy, pid, *options):
    r = run(cspy, 'dump', '--json', *options, pid)
    assert r.code == 0 and r.err == '', r
    return json.loads(r.out)


def is_own(frame, version):
    """Has the frame a place of its own? Ruby gives C functions, and from 3.4 on its own methods, that of their caller."""
    return frame['filename'] and not (version >= (3, 4) and frame['filename'].startswith('<internal:'))


def rows(thread, version):
    """[label, file, line] as Ruby tells them; from 3.4 on labels have the class, and clauses stand for their method."""
    found, clause = [], False
    for frame in thread['frames']:
        under_clause, clause = clause, version >= (3, 4) and bool(CLAUSES.match(frame['name']))
        if under_clause:
            clause = clause or bool(CLAUSES.match(frame['name']))
            continue
        label = CLAUSES.sub('', frame['qualname']) if version >= (3, 4) else frame['name']
        found.append([label, frame['filename'], frame['line']] if is_own(frame, version) else [label])
    return found


def expected(truth, found):
    """What Ruby said, without the places of frames that have none of their own."""
    return [row if i >= len(found) or len(found[i]) == 3 else row[:1] for i, row in enumerate(truth['stack'])]


@pytest.fixture
def own_stack(ruby, target, tmp_path):
    """A program whose threads all stand still, and what it says of them."""
    seen = inside = str(tmp_path / 'own.json')
    if ruby.root:
        inside = os.path.join(os.path.dirname(ruby.place(OWN_STACK)), 'own.json')
        seen = ruby.root + inside
    t = target(ruby, OWN_STACK, inside)
    assert t.line(60) == 'ready'
    t.settle()
    with open(seen, encoding='utf-8') as f:
        t.truth = json.load(f)
    return t


def by_name(threads, pid):
    return {None if t['os_thread_id'] == pid else t['thread_name']: t for t in threads}


@pytest.mark.parametrize('mode', ['--nonblocking', None])
def test_every_stack_is_what_ruby_says(ruby, cspy, own_stack, mode):
    threads = by_name(dump(cspy, own_stack.pid, *[mode] if mode else []), own_stack.pid)
    assert len(threads) == len(own_stack.truth) + 1 > 50  # and the thread that told
    for truth in own_stack.truth:
        thread = threads[truth['name']]
        assert thread['error'] is None and not thread['truncated'] and thread['sure']
        found = rows(thread, ruby.version)
        assert found == expected(truth, found), truth['name']


def test_threads_have_their_ids_and_do_nothing(ruby, cspy, own_stack):
    threads = by_name(dump(cspy, own_stack.pid), own_stack.pid)
    tids = {t['os_thread_id'] for t in threads.values()}
    assert len(tids) == len(threads) and tids <= {int(d) for d in os.listdir('/proc/%d/task' % own_stack.pid)}
    for truth in own_stack.truth:
        thread = threads[truth['name']]
        assert not thread['active'] and not thread['owns_gil'] and thread['state'] == 'idle'
        if truth['native']:
            assert thread['os_thread_id'] == truth['native']


def test_methods_have_their_class(ruby, cspy, own_stack):
    threads = by_name(dump(cspy, own_stack.pid), own_stack.pid)

    def names(thread):
        return [f['qualname'] for f in threads[thread]['frames']]
    assert 'Plain.method_of_class' in names('class')
    assert 'Plain#method_of_instance' in names('instance')
    assert 'block in Plain.in_singleton_body' in names('singleton body')
    assert 'rescue in Plain#rescuing' in names('rescue')
    assert 'Plain#<=>' in names('compare') and 'Array#sort' in names('compare')
    assert names('super')[2:4] == ['Plain#method_of_instance', 'Derived#method_of_instance']
    assert names('prepended')[2:4] == ['Plain#method_of_instance', 'Before#method_of_instance']
    assert 'block (2 levels) in Tools::Inner.deep' in names('module')
    assert 'Größe#日本' in names('unicode')
    assert 'unnamed' in names('anonymous')  # its class has no name
    assert names('big 897')[2] == 'Object#big' and names('big 897')[0] == 'Kernel#sleep'
    assert 'Enumerable#inject' in names('inject')


def test_every_frame_has_all_keys(ruby, cspy, own_stack):
    for thread in dump(cspy, own_stack.pid):
        assert thread['runtime'] == 'Ruby' and thread['runtime_version'].startswith('%d.%d.' % ruby.version[:2])
        for frame in thread['frames']:
            assert frame['error'] is None and frame['name']
            if frame['filename']:
                assert frame['line'] > 0 or frame['filename'] == '<main>', frame  # an eval at the top, to 2.7
                assert frame['filename'].endswith(frame['short_filename'])
            else:
                assert 'ruby' in frame['module'] or frame['module'].endswith('.so')
                assert frame['library']


def test_states_are_what_the_threads_do(ruby, cspy, target):
    t = target(ruby, STATES)
    assert t.line(60) == 'ready'
    seen = {}
    for _ in range(10):
        for thread in dump(cspy, t.pid):
            seen.setdefault(thread['thread_name'], set()).add(thread['state'].partition('+')[0])
            if thread['thread_name'] == 'busy':
                assert 'busy_one' in [f['name'] for f in thread['frames']]
        time.sleep(0.02)
    assert seen['sleeps'] == seen['reads'] == seen['waits'] == {'idle'}
    assert 'active' in seen['busy']
    # The other busy one runs or waits for the lock.
    assert seen['busy too'] <= {'active', 'idle', 'gvl-wait'} and 'gvl-wait' in seen['busy'] | seen['busy too']


def test_ractors_are_seen(ruby, cspy, target):
    if ruby.version < (3, 0):
        pytest.skip('Ruby %d.%d has no ractors' % ruby.version[:2])
    t = target(ruby, RACTORS)
    assert [t.line(60) for _ in range(4)] == ['ready'] * 4
    stacks = [[f['name'] for f in reversed(th['frames'])] for th in dump(cspy, t.pid)]
    assert sum('in_ractor' in s for s in stacks) == 2
    assert sum('in_ractors_thread' in s for s in stacks) == 1
    assert sum('in_main' in s for s in stacks) == 1


def test_threads_that_share_native_threads_are_seen(ruby, cspy, target):
    if ruby.version < (3, 3):
        pytest.skip('Ruby %d.%d has no M:N threads' % ruby.version[:2])
    t = target(ruby, RACTORS, env={**os.environ, 'RUBY_MN_THREADS': '1'})
    assert [t.line(60) for _ in range(4)] == ['ready'] * 4

    def at_rest():  # without a native thread, once it sleeps
        found = [th for th in dump(cspy, t.pid) if th['os_thread_id'] is None]
        return [f['name'] for th in found for f in th['frames']].count('in_ractors_thread') == 1 and found
    parked = wait_for(at_rest)
    assert all(th['sure'] for th in parked)


def test_the_collector_is_a_leaf(ruby, cspy, target, tmp_path):
    t = target(ruby, 'fixtures/targets/ruby/garbage.rb')
    assert t.line(60) == 'ready'
    out = tmp_path / 'folded'
    r = run(cspy, 'record', '-p', t.pid, '-d', '1', '-r', '500', '-f', 'folded', '-o', out, '-q')
    assert r.code == 0, r
    lines = out.read_text().splitlines()
    counts = [int(line.rpartition(' ')[2]) for line in lines]
    in_gc = sum(n for n, line in zip(counts, lines) if line.rpartition(' ')[0].endswith('[garbage collection]'))
    assert in_gc > sum(counts) * 0.3
    assert any('collect' in line and 'GC.start' in line for line in lines)
