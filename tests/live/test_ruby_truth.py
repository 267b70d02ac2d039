"""Every stack is one that the Ruby program can have had: programs whose every legal stack is known, in every mode.

CSPY_TRUTH_SECONDS multiplies the time that is recorded.
"""
import os
import random
import subprocess

import pytest
import runtimes
from judge import IMPOSSIBLE
from ruby_judge import Judge
from test_truth import LOST, NONBLOCKING, allowed, judged, on_cpu, once_more, record

TARGETS = 'fixtures/targets/ruby/'
PROGRAMS = ('calls', 'blocks', 'dispatch', 'exceptions', 'threads')


def program_path(program):
    return TARGETS + 'truth_%s.rb' % program


def nothing_is_impossible(t, cspy, program, tmp_path):
    """In each mode, of a target that runs this program."""
    assert t.line() == 'ready'
    judge = Judge(os.path.join(runtimes.ROOT, program_path(program)))

    def attempt(scale):
        wrong = []
        for mode in ('default', 'blocking', 'nonblocking'):
            options = [] if mode == 'default' else ['--' + mode]
            total, taken, lost, told = judged(judge, cspy, t.pid, options, tmp_path, scale)
            print('%s %s: %s' % (program, mode, told))
            forgiven = NONBLOCKING if mode == 'nonblocking' else 0
            if total.impossible + total.counts['no-root'] > allowed(forgiven, total.total):
                wrong.append('%s: impossible: %s' % (mode, total))
            if lost > allowed(LOST, taken):
                wrong.append('%s: %d of %d samples lost' % (mode, lost, taken))
            if total.total < 10:
                wrong.append('%s: only %d samples' % (mode, total.total))
        return wrong

    once_more(attempt, 10)


@pytest.mark.parametrize('program', PROGRAMS)
def test_no_stack_is_impossible(ruby, target, cspy, program, tmp_path):
    nothing_is_impossible(target(ruby, program_path(program), 600, preexec_fn=on_cpu(-1)), cspy, program, tmp_path)


def test_no_stack_of_threads_that_share_native_threads_is_impossible(ruby, target, cspy, tmp_path):
    if ruby.version < (3, 3):
        pytest.skip('Ruby %d.%d has no M:N threads' % ruby.version[:2])
    t = target(ruby, program_path('threads'), 600, preexec_fn=on_cpu(-1), env={**os.environ, 'RUBY_MN_THREADS': '1'})
    nothing_is_impossible(t, cspy, 'threads', tmp_path)


def with_yjit():
    """The Ruby here that compiles (Debian builds 3.1 alone with it); None: none does."""
    for ruby in runtimes.rubies():
        said = subprocess.run([*ruby.argv, '--yjit', '-e', 'print RubyVM::YJIT.enabled?'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if said.returncode == 0 and said.stdout == b'true':
            return ruby
    return None


@pytest.mark.parametrize('program', ('calls', 'exceptions'))
def test_no_stack_of_compiled_code_is_impossible(target, cspy, program, tmp_path):
    ruby = with_yjit()
    if not ruby:
        pytest.skip('no Ruby here has YJIT')
    command = [*ruby.argv, '--yjit', ruby.place(program_path(program)), '600']
    nothing_is_impossible(target(command, preexec_fn=on_cpu(-1)), cspy, program, tmp_path)


def test_names_are_the_same_each_time(ruby, target, cspy, tmp_path):
    """A method's class is learnt from its frames, which may change while they are read."""
    t = target(ruby, program_path('exceptions'), 600, preexec_fn=on_cpu(-1))
    assert t.line() == 'ready'
    names = set()
    # Without pauses a method that is gone before it is read twice is seen by luck; paused looks meet each of them.
    for n in range(20):
        for options in (['--nonblocking'], []):
            lines, _ = record(cspy, t.pid, 1000000, 0.5, options, tmp_path)
            names.update(f.partition(' (')[0] for line in lines for f in line.split(';'))
        if n >= 2 and {'Object#fails', 'Object#nested'} <= names:
            break
    assert {'Object#fails', 'Object#nested'} <= names
    assert set() == names & {'fails', 'two', 'one', 'rescues', 'throws', 'spin', 'rescue in nested'}


# ---- The judge is judged ----

@pytest.mark.parametrize('stack, verdict', [
    ('<main>:64;pad:59;spin:51;hot_a:36;mid_a:21;leaf_a1:5', 'ok'),
    ('<main>:64;pad:59;spin:51;hot_a:36;mid_a:21;[cut]', 'cut'),
    ('<main>:64;pad:59;spin:51;hot_a:36;mid_a:22;leaf_a1:5', 'line'),
    ('<main>:64;pad:59;spin:51;hot_a:36;mid_b:27', 'function'),
    ('<main>:64;pad:59;spin:51;hot_a:36;leaf_a1:5', 'function'),
    ('<main>:64;pad:59;spin:51;hot_a:36;mid_a:5', 'line'),
    ('pad:59;spin:51', 'function'),
    ('[cut]', 'cut'),
    ('<main>:64;what', 'form'),
])
def test_judge_tells(stack, verdict):
    judge = Judge(os.path.join(runtimes.ROOT, program_path('calls')))
    frames = [f if ':' not in f else '%s (truth_calls.rb:%s)' % tuple(f.rsplit(':', 1)) for f in stack.split(';')]
    assert judge.stack(';'.join(frames)) == verdict


def test_judge_refuses_what_is_spliced(ruby, target, cspy, tmp_path):
    """The root side of one stack, and from a frame of the same name on the leaf side of another: what torn reads make."""
    t = target(ruby, program_path('dispatch'), 600)
    assert t.line() == 'ready'
    lines, _ = record(cspy, t.pid, 1000, 1, [], tmp_path)
    judge = Judge(os.path.join(runtimes.ROOT, program_path('dispatch')))
    stacks = [line.rpartition(' ')[0].split(';') for line in lines if line and '[' not in line]
    dice, refused = random.Random(1), 0
    for _ in range(5000):
        a, b = dice.choice(stacks), dice.choice(stacks)
        i, j = dice.randrange(len(a)), dice.randrange(len(b))
        refused += judge.stack(';'.join(a[:i] + b[j:])) in IMPOSSIBLE
    assert refused > 2000
