"""Shares are the program's: functions that time themselves, against how often each was found at the leaf.

What is compared are points of self time, over all samples: a `[cut]` stack counts, and is nobody's. A share may be off by POINTS,
by three standard deviations of counting, and by what the machine itself disturbed (the difference between the truth of the whole
window and that of its quiet part, or the time that the program did not get: how the looks met that is chance). In default mode the paused samples alone say how the others are to be weighed, so the
deviation is that of their number. The driver's own share is told and not judged: it makes a call every few microseconds, and no
clock can say which part of calling is the caller's (0.1 us a call makes it a point). CSPY_TRUTH_SECONDS multiplies the time.
"""
import collections
import json
import os
import re
import statistics
import time

import pytest
import runtimes
from test_truth import TARGETS, on_cpu, once_more, record

RATE, LONG, SHORT = 1000, 4, 2      # samples a second; seconds on chosen() interpreters and on the others
POINTS = 1.0                        # what lasts 5 us or longer
STORM_POINTS = 2.0                  # calls that last as long as a call does


def chosen():
    """Names of the interpreters that get the long tests: one of each kind of frame, and the newest."""
    pythons = [p for p in runtimes.pythons() if not p.debug]
    kinds = [next((p.name for p in pythons if p.version[:2] == v), None) for v in ((2, 7), (3, 8), (3, 11), (3, 13))]
    return set(kinds + [max(pythons, key=lambda p: p.version).name])


def leaves(lines):
    """Counts by the leaf's function, without its class: 'Thing.get (x.py:3)' and 'block in Thing#get (x.rb:3)' -> get."""
    counts = collections.Counter()
    for line in lines:
        if line and not line.startswith('#'):
            stack, _, n = line.rpartition(' ')
            leaf = stack.rpartition(';')[2]
            counts[leaf if leaf.startswith('[') else re.split('[.#]|block in ', leaf.partition(' (')[0])[-1]] += int(n)
    return counts


def shares(counts):
    total = sum(counts.values())
    return {k: v / total for k, v in counts.items()}


def deviation(share, n):
    """Of a share that was counted in n samples, in points."""
    return 100 * (max(share, 1 / n) * (1 - share) / n) ** 0.5


class Truth:
    """The log of a program that times its functions."""

    def __init__(self, path, start, end):
        with open(path) as f:
            rows = [json.loads(line) for line in f.read().split('\n')[:-1]]
        self.short = rows[0]['short']
        self.functions = set(rows[0]['self'])
        inside = [r for r in rows if start <= r['time'] <= end]
        steps = [{k: b['self'][k] - a['self'][k] for k in self.functions} for a, b in zip(inside, inside[1:])]
        usual = statistics.median(sum(s.values()) for s in steps) if steps else 0
        self.whole = self.sums(steps)
        self.quiet = self.sums([s for s in steps if sum(s.values()) < 1.2 * usual])
        # Of the window the part in which it did not run at nearly its full speed; a step at each end is in two windows.
        fastest = min((b['time'] - a['time'] for a, b in zip(rows, rows[1:])), default=0)
        self.lost = max(0, 1 - (len(steps) + 2) * 1.1 * fastest / (end - start))

    def sums(self, steps):
        return shares({k: sum(s[k] for s in steps) for k in self.functions})

    def name(self, leaf):
        """What the log calls it: the burst's parts are one; whatever serves the driver is the driver's."""
        for whole, parts in self.short.items():
            if leaf in parts and whole in self.functions:
                return whole
        return leaf if leaf in self.functions or leaf.startswith('[') else 'drive'


def compared(truth, counts, n, exempt=()):
    """(rows that are off, a line that tells) of leaf counts against a Truth."""
    named = collections.Counter()
    for leaf, count in counts.items():
        named[truth.name(leaf)] += count
    got, off, told = shares(named), [], []
    for name in sorted(set(got) | truth.functions):
        is_, was = 100 * got.get(name, 0), 100 * truth.whole.get(name, 0)
        disturbed = max(abs(was - 100 * truth.quiet.get(name, 0)), 100 * truth.lost)
        limit = POINTS + 3 * deviation(was / 100, n) + disturbed
        told.append('%s %.1f/%.1f' % (name, is_, was))
        if abs(is_ - was) > limit and name not in ('drive', '[cut]') and name not in exempt:
            off.append('%s has %.2f %%, not %.2f %% (allowed: %.2f points, %.2f of them for disturbance)' % (
                name, is_, was, limit, disturbed))
    return off, ', '.join(told) + ('; disturbed: %.0f %%' % (100 * truth.lost) if truth.lost else '')


def counted(stats, mode):
    return max(1, stats['paused'] if mode == 'default' and stats['paused'] else stats['samples'])


def started(python, target, program, folder):
    """(target, log) of a program that times itself; the log is where the program can write and the test can read."""
    script = python.place(TARGETS + program + '.py')
    log = os.path.join(os.path.dirname(script), 'log') if python.root else str(folder / 'log')
    t = target(python, TARGETS + program + '.py', 600, log, beside=[TARGETS + 'shares_known.py'], preexec_fn=on_cpu(-1))
    assert t.line() == 'ready'
    return t, (python.root or '') + log


@pytest.mark.parametrize('mode', ['default', 'blocking', 'nonblocking'])
@pytest.mark.parametrize('program', ['shares_long', 'shares_known', 'shares_sums'])
def test_shares_are_what_the_program_measured(python, target, cspy, program, mode, tmp_path):
    if python.name not in chosen() and (program, mode) != ('shares_long', 'default'):
        pytest.skip('one interpreter of each kind is enough')
    t, log = started(python, target, program, tmp_path)

    def attempt(scale):
        seconds = (LONG if python.name in chosen() else SHORT) * scale
        start = time.time()
        lines, stats = record(cspy, t.pid, RATE, seconds, [] if mode == 'default' else ['--' + mode], tmp_path)
        truth = Truth(log, start, time.time())
        # A generator of which no stack was ever whole is cut, without pauses: then it is the others that are judged.
        exempt = ['total'] if mode == 'nonblocking' else ()
        off, told = compared(truth, leaves(lines), counted(stats, mode), exempt)
        print('%s %s %s, %d samples: %s' % (python.name, program, mode, stats['samples'], told))
        return off

    # Without pauses a context is believed when it was met often enough, which takes its time.
    once_more(attempt, 6 if mode == 'nonblocking' else 3)


def storm(cspy, pid, seconds, folder):
    """(functions that are off, a line that tells): default mode against what always pausing says."""
    lines, stats = record(cspy, pid, RATE, seconds, ['--blocking'], folder)
    truth, n = shares(leaves(lines)), stats['samples']
    lines, stats = record(cspy, pid, RATE, seconds, [], folder)
    got, m = shares(leaves(lines)), counted(stats, 'default')
    wrong, told = [], []
    for name in sorted(set(truth) | set(got)):
        is_, was = 100 * got.get(name, 0), 100 * truth.get(name, 0)
        both = deviation(was / 100, n) + deviation(was / 100, m)
        told.append('%s %.1f/%.1f' % (name, is_, was))
        if abs(is_ - was) > STORM_POINTS + 3 * both:
            wrong.append('%s has %.2f %%, not %.2f %% (allowed: %.2f points)' % (name, is_, was, STORM_POINTS + 3 * both))
    return wrong, '%d and %d samples: %s' % (n, stats['samples'], ', '.join(told))


def test_a_storm_of_short_calls_has_the_shares_that_pausing_gives(python, target, cspy, tmp_path):
    t = target(python, TARGETS + 'shares_storm.py', 600, preexec_fn=on_cpu(-1))
    assert t.line() == 'ready'

    def attempt(scale):
        seconds = (LONG if python.name in chosen() else SHORT) * scale
        wrong, told = storm(cspy, t.pid, seconds, tmp_path)
        print('%s storm, %s' % (python.name, told))
        return wrong

    once_more(attempt, 3)
