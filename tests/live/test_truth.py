"""Every stack is one that the program can have had: programs whose every legal stack is known, on every Python, in every mode.

The target and cspy have a CPU each where there are two, because a reader that shares its target's CPU never reads while it runs.
CSPY_TRUTH_SECONDS multiplies the time that is recorded (1: some 3 s for a program on an interpreter).
"""
import collections
import json
import os
import random
import subprocess
import sys
import warnings

import pytest
import runtimes
from judge import IMPOSSIBLE, Judge, Report

TARGETS = 'fixtures/targets/python/'
PROGRAMS = ('calls', 'dispatch', 'callbacks', 'generators', 'exceptions', 'recursion', 'threads', 'made', 'many')
OTHER_BUILDS = ('calls', 'recursion', 'threads')    # for builds of a version of which another one runs them all
SCALE = float(os.environ.get('CSPY_TRUTH_SECONDS', 1))
RATES = ((1000, 0.5), (1000000, 0.3))       # samples a second (the second: as many as go), seconds
NONBLOCKING = 1e-4                          # impossible stacks forgiven a stack, where the target is never paused
LOST = 1e-3                                 # samples that may fail, a sample
CPUS = sorted(os.sched_getaffinity(0))


def on_cpu(which):
    """A preexec_fn: the first CPU is cspy's, the last the target's."""
    return (lambda: os.sched_setaffinity(0, {CPUS[which]})) if len(CPUS) > 1 else None


def allowed(share, n):
    """How many of n may be bad if `share` of all are, three standard deviations included."""
    return share * n + 3 * (share * n) ** 0.5


def program_path(program):
    return TARGETS + 'truth_%s.py' % program


@pytest.fixture(scope='module')
def judge():
    """judge(program, python): each program is parsed once."""
    kept = {}

    def get(program, version):
        key = program, 'qualified' if version >= (3, 11) else 'bare'
        if key not in kept:
            kept[key] = Judge(os.path.join(runtimes.ROOT, program_path(program)), key[1])
        return kept[key]
    return get


def record(cspy, pid, rate, seconds, options, folder):
    """(folded lines, statistics) of a recording."""
    out, stats = str(folder / 'folded'), str(folder / 'stats')
    command = [cspy, 'record', '-q', '-p', str(pid), '-r', str(rate), '-d', str(seconds), '-f', 'folded', '-o', out,
               '--stats', stats]
    p = subprocess.run(command + options, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       universal_newlines=True, preexec_fn=on_cpu(0), timeout=seconds + 60)
    assert p.returncode == 0, p.stdout
    with open(out, encoding='utf-8', errors='surrogateescape') as f, open(stats) as g:
        return f.read().split('\n'), json.load(g)


def judged(judge, cspy, pid, options, folder, scale):
    """(verdicts, samples taken, samples lost, a line that tells) of recordings at every rate."""
    total, taken, lost, told = Report(), 0, 0, []
    for rate, seconds in RATES:
        lines, stats = record(cspy, pid, rate, seconds * scale, options, folder)
        report = judge.folded(lines)
        total.counts.update(report.counts)
        for verdict, examples in report.examples.items():
            total.examples[verdict].update(examples)
        # Every look at a program gives something to count, of one thread at least.
        counted = stats['samples'] + stats['idle'] + stats['failed']
        gone = stats['failed'] + max(0, stats['ticks'] - counted)
        taken += counted
        lost += gone
        told.append('%d at %d/s: %.2f %% cut, %d lost, %d paused' % (
            report.total, rate, report.percent(report.counts['cut']), gone, stats['paused']))
    return total, taken, lost, '; '.join(told)


def once_more(attempt, longer):
    """attempt(scale) -> what is wrong. A first failure is told, and has to show again in so much longer a recording."""
    first = attempt(SCALE)
    if not first:
        return
    warnings.warn('UNSTEADY, tried again with more time: ' + '; '.join(first))
    again = attempt(longer * SCALE)
    assert not again, '\n'.join(again)


def test_no_stack_is_impossible(python_program, target, cspy, judge, tmp_path):
    python, program = python_program
    t = target(python, program_path(program), 600, preexec_fn=on_cpu(-1))
    assert t.line() == 'ready'
    judge = judge(program, python.version)

    def attempt(scale):
        wrong = []
        for mode in ('default', 'blocking', 'nonblocking'):
            options = [] if mode == 'default' else ['--' + mode]
            report, taken, lost, told = judged(judge, cspy, t.pid, options, tmp_path, scale)
            print('%s %s %s: %s' % (python.name, program, mode, told))
            bad = report.impossible + report.counts['no-root']
            if bad > (allowed(NONBLOCKING, report.total) if mode == 'nonblocking' else 0):
                wrong.append('%s: impossible: %s' % (mode, report))
            if lost > allowed(LOST, taken):
                wrong.append('%s: %d of %d samples lost' % (mode, lost, taken))
            if report.total < 10:
                wrong.append('%s: only %d samples' % (mode, report.total))
        return wrong

    once_more(attempt, 10)


# ---- The judge is judged: what an interpreter traces is legal, and what is spliced from it is not ----

def traced(command, seconds, every):
    p = subprocess.run([*command, seconds, every], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=120)
    assert p.returncode == 0, p.stderr.decode(errors='replace')
    return p.stdout.decode().splitlines()


@pytest.mark.parametrize('program', PROGRAMS)
def test_judge_accepts_every_stack_that_the_interpreter_traces(python_version, judge, program):
    python = python_version
    command = [*python.argv, python.place(TARGETS + 'traced.py'), python.place(program_path(program))]
    report = judge(program, python.version).folded(traced(command, '0.02', '211' if program == 'recursion' else '1'))
    assert report.total > 100 and not report.impossible, report


def chain(frames):
    """What makes a stack legal: every frame with its line, but the leaf on any line."""
    return tuple(frames[:-1]), frames[-1].rpartition(':')[0]


def test_judge_refuses_every_splice_of_stacks_that_was_not_traced(judge):
    """As torn reads are made: the root side of one stack, and from a frame of the same name on the leaf side of another."""
    path = os.path.join(runtimes.ROOT, program_path('dispatch'))
    lines = traced([sys.executable, os.path.join(runtimes.ROOT, TARGETS, 'traced.py'), path], '0.2', '1')
    stacks = [line.rpartition(' ')[0].split(';') for line in lines]
    stacks = [s for s in stacks if len(s) > 2 and s[1].startswith('spin ')]
    legal = {chain(s) for s in stacks}
    judge = judge('dispatch', sys.version_info)
    dice = random.Random(1)
    verdicts = collections.Counter()
    while sum(verdicts.values()) < 20000:
        a, b = dice.choice(stacks), dice.choice(stacks)
        i, j = dice.randrange(1, len(a)), dice.randrange(1, len(b))
        if a[i].partition(' ')[0] != b[j].partition(' ')[0]:
            continue
        spliced = a[:i] + b[j:]
        verdict = judge.stack(';'.join(spliced))
        verdicts[verdict] += 1
        assert (verdict == 'ok') == (chain(spliced) in legal), (verdict, spliced)
    assert sum(verdicts[v] for v in IMPOSSIBLE) > 500, verdicts


@pytest.mark.parametrize('stack, verdict', [
    ('pad;spin;hot_a;mid_a;leaf_a1', 'ok'),
    ('pad;spin;hot_a;mid_a;[cut]', 'cut'),
    ('[cut]', 'cut'),
    ('pad;spin;hot_a;mid_b', 'function'),
    ('pad;spin;hot_a;mid_b;[cut]', 'function'),
    ('spin', 'function'),
    ('pad;spin;hot_a!;mid_a', 'line'),
    ('pad;spin;hot_a;mid_a!', 'line'),
    ('pad;spin;hot_a;elsewhere', 'function'),
    ('pad;spin;hot_a;[what]', 'form'),
])
def test_judge_tells(judge, stack, verdict):
    """`f` stands for a frame of it on a line that calls the next (a leaf: on its first), `f!` for one that is on line 1."""
    judge = judge('calls', (3, 11))
    known = {f.name: f for f in judge.program.main.functions}
    frames = []
    names = stack.split(';')
    if 'pad' in names:
        names = ['<module>'] + ['pad'] * 16 + names
    for name, above in zip(names, names[1:] + ['']):
        function = known.get(name.rstrip('!'))
        if function is None:
            frames.append(name if name.startswith('[') else name + ' (elsewhere.py:3)')
            continue
        calls = [n for n, c in function.calls.items() if any(x.term.head.function.name == above.rstrip('!') for x in c)]
        line = 1 if name.endswith('!') else (calls or [max(function.lines) if name == '<module>' else function.first])[0]
        frames.append('%s (truth_calls.py:%d)' % (function.name, line))
    assert judge.stack(';'.join(frames)) == verdict


def test_judge_starts_anywhere_when_the_root_is_truncated(judge):
    judge = judge('dispatch', (3, 11))
    known = {f.name: f for f in judge.program.main.functions}
    line = min(known['dispatch'].calls)
    for top, verdict in (('leaf_a', 'ok'), ('spin', 'ok'), ('hot_a', 'ok')):
        text = '[deeper];dispatch (truth_dispatch.py:%d);%s (truth_dispatch.py:%d)' % (line, top, known[top].first)
        assert judge.stack(text) == verdict
    line = min(known['hot_a'].calls)
    text = '[deeper];hot_a (truth_dispatch.py:%d);leaf_a (truth_dispatch.py:%d)' % (line, known['leaf_a'].first)
    assert judge.stack(text) == 'function'
