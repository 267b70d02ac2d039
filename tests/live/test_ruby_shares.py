"""Shares of a Ruby program's functions are those that it measured itself; how they are compared is told in test_shares.py."""
import os
import time
import warnings

import pytest
import runtimes
from test_ruby_truth import TARGETS
from test_shares import RATE, Truth, compared, counted, leaves, storm
from test_truth import SCALE, on_cpu, once_more, record

OFTEN, SECONDS = 4000, 2            # looks a second where no pause costs anything
MODES = {'shares_long': ('default', 'blocking', 'nonblocking'), 'shares_known': ('default', 'nonblocking'),
         'shares_sums': ('nonblocking',)}


def chosen():
    """Names of the Rubies that get all tests: one of each way to push a frame."""
    rubies = sorted(runtimes.rubies(), key=lambda r: r.version)
    return {r.name for r in rubies[:1] + rubies[-1:]}


def steadily(attempt, longer):
    """once_more(), when it has failed already: on a busy machine looks come in heaps, which no deviation allows for."""
    first = attempt(SCALE)
    if first:
        warnings.warn('UNSTEADY, tried again: ' + '; '.join(first))
        once_more(attempt, longer)


@pytest.mark.parametrize('program, mode', [(p, m) for p, modes in MODES.items() for m in modes])
def test_shares_are_what_the_program_measured(ruby, target, cspy, program, mode, tmp_path):
    if ruby.name not in chosen() and (program, mode) != ('shares_long', 'nonblocking'):
        pytest.skip('one Ruby of each kind is enough')
    script = ruby.place(TARGETS + program + '.rb')
    log = os.path.join(os.path.dirname(script), 'log') if ruby.root else str(tmp_path / 'log')
    t = target(ruby, TARGETS + program + '.rb', 600, log, beside=[TARGETS + 'shares_known.rb'], preexec_fn=on_cpu(-1))
    assert t.line() == 'ready'

    def attempt(scale):
        rate = OFTEN if mode == 'nonblocking' else RATE
        start = time.time()
        lines, stats = record(cspy, t.pid, rate, SECONDS * scale, [] if mode == 'default' else ['--' + mode], tmp_path)
        truth = Truth((ruby.root or '') + log, start, time.time())
        # A block of which no stack was ever whole is cut, without pauses: then it is the others that are judged.
        exempt = ['total', 'burst'] if mode == 'nonblocking' else ()
        off, told = compared(truth, leaves(lines), counted(stats, mode), exempt)
        print('%s %s %s, %d samples: %s' % (ruby.name, program, mode, stats['samples'], told))
        return off

    # Without pauses a context is believed when it was met often enough, which takes its time.
    steadily(attempt, 6 if mode == 'nonblocking' else 3)


def test_a_storm_of_short_calls_has_the_shares_that_pausing_gives(ruby, target, cspy, tmp_path):
    t = target(ruby, TARGETS + 'shares_storm.rb', 600, preexec_fn=on_cpu(-1))
    assert t.line() == 'ready'

    def attempt(scale):
        wrong, told = storm(cspy, t.pid, SECONDS * scale, tmp_path)
        print('%s storm, %s' % (ruby.name, told))
        return wrong

    steadily(attempt, 3)
