"""Every interpreter of runtimes.tsv starts a program; one that this machine can't have is skipped, by name."""
import pytest
import runtimes

PROGRAM = 'fixtures/targets/python/version.py'
HERE = [pytest.param(i, id=i.name) for i in runtimes.pythons()]
MISSING = [pytest.param(None, id=name, marks=pytest.mark.skip(reason='%s: %s' % (name, reason)))
           for name, reason in runtimes.missing()]


@pytest.mark.parametrize('interpreter', HERE + MISSING)
def test_interpreter_runs_a_program(interpreter, target):
    assert target(interpreter, PROGRAM).line() == '.'.join(map(str, interpreter.version))
