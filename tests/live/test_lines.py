"""Line and column of every instruction of each interpreter's standard library, against what the interpreter says itself."""
import os
import subprocess

import pytest

RECORDS = 'fixtures/targets/python/line_tables.py'
# The standard library of the smallest interpreter here has ten times as many.
ENOUGH = 100000


@pytest.fixture(scope='session')
def judge(cspy):
    """tests/live/linetable_judge.c, built beside the cspy under test."""
    path = os.path.join(os.path.dirname(cspy), 'tests', 'live', 'linetable_judge')
    if not os.access(path, os.X_OK):
        pytest.fail('there is no %s; make check-live builds it' % path)
    return path


def judged(judge, version, records):
    """(code objects, offsets, wrong ones, what was wrong)"""
    p = subprocess.run([judge, *map(str, version[:2])], stdin=records, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True)
    counts = p.stdout.split()
    assert len(counts) == 3, p.stderr
    return (*map(int, counts), p.stderr)


def test_every_instruction_has_the_line_and_column_that_the_interpreter_says(python, target, judge):
    source = target(python, RECORDS)
    codes, offsets, wrong, what = judged(judge, python.version, source.process.stdout)
    assert source.process.wait() == 0, source.stderr()
    assert codes and offsets > ENOUGH
    assert wrong == 0, what


def test_a_wrong_line_is_noticed(judge, tmp_path):
    """The judge can fail: one pair (2 bytes, 1 line) of 3.9 says line 8 from byte 2 on, the record says 7 for all."""
    words = [1, 2, 7, 4, 1, 0]
    data = b''.join(w.to_bytes(4, 'little') for w in words) + b'f' + bytes([2, 1])
    data += b''.join(w.to_bytes(4, 'little') for w in (4, 7))
    (tmp_path / 'records').write_bytes(data)
    with open(tmp_path / 'records', 'rb') as records:
        codes, offsets, wrong, what = judged(judge, (3, 9), records)
    assert (codes, offsets, wrong) == (1, 4, 2)
    assert 'offset 2: 8:0, the interpreter says 7:0' in what
