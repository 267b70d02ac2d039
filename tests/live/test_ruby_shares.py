"""Shares of a Ruby program's functions are those that it measured itself; how they are compared is told in test_shares.py."""
import os
import time

import pytest
import runtimes
from test_ruby_truth import TARGETS
from test_shares import Truth, compared, counted, leaves
from test_truth import on_cpu, once_more, record

RATE, SECONDS = 1000, 2


def chosen():
    """Names of the Rubies that are tried in both modes: one of each way to push a frame."""
    rubies = sorted(runtimes.rubies(), key=lambda r: r.version)
    return {r.name for r in rubies[:1] + rubies[-1:]}


@pytest.mark.parametrize('mode', ['nonblocking', 'default'])
def test_shares_are_what_the_program_measured(ruby, target, cspy, mode, tmp_path):
    if mode != 'nonblocking' and ruby.name not in chosen():
        pytest.skip('one Ruby of each kind is enough')
    log = os.path.join(os.path.dirname(ruby.place(TARGETS + 'shares_known.rb')), 'log') if ruby.root else str(tmp_path / 'log')
    t = target(ruby, TARGETS + 'shares_known.rb', 600, log, preexec_fn=on_cpu(-1))
    assert t.line() == 'ready'

    def attempt(scale):
        start = time.time()
        lines, stats = record(cspy, t.pid, RATE, SECONDS * scale, [] if mode == 'default' else ['--' + mode], tmp_path)
        off, told = compared(Truth((ruby.root or '') + log, start, time.time()), leaves(lines), counted(stats, mode))
        print('%s %s, %d samples: %s' % (ruby.name, mode, stats['samples'], told))
        return off

    # Without pauses a context is believed when it was met often enough, which takes its time.
    once_more(attempt, 6 if mode == 'nonblocking' else 3)
