"""Fixtures of the live tests: the cspy under test, each interpreter, and targets that never outlive their test."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runtimes  # noqa: E402


def one_a_version():
    """A free-threaded build counts as a version of its own."""
    first = {(p.version[:2], p.nogil): p for p in reversed([p for p in runtimes.pythons() if not p.debug])}
    return sorted(first.values(), key=lambda p: p.version)


def pytest_generate_tests(metafunc):
    if 'python' in metafunc.fixturenames:
        metafunc.parametrize('python', runtimes.pythons(), ids=lambda i: i.name)
    if 'python_version' in metafunc.fixturenames:   # one interpreter a version, where only the language matters
        metafunc.parametrize('python_version', one_a_version(), ids=lambda i: i.name)
    if 'python_program' in metafunc.fixturenames:   # of a version's other builds, some programs will do
        whole, module = one_a_version(), metafunc.module
        pairs = [(p, program) for p in runtimes.pythons() for program in module.PROGRAMS
                 if p in whole or program in module.OTHER_BUILDS]
        metafunc.parametrize('python_program', pairs, ids=lambda pair: '%s-%s' % (pair[0].name, pair[1]))
    if 'ruby' in metafunc.fixturenames:
        metafunc.parametrize('ruby', runtimes.rubies(), ids=lambda i: i.name)


@pytest.fixture(scope='session')
def cspy():
    """Path of the program under test: $CSPY or build/cspy."""
    path = os.path.abspath(os.environ.get('CSPY') or os.path.join(runtimes.ROOT, 'build', 'cspy'))
    if not os.access(path, os.X_OK):
        pytest.fail('there is no %s; run make first' % path)
    return path


@pytest.fixture
def target():
    """Start programs: target(python, 'fixtures/targets/python/x.py', args...) or target(['any', 'command']).

    Gives a runtimes.Target. All are killed when the test ends.
    """
    started = []

    def start(what, *args, **options):
        if isinstance(what, runtimes.Interpreter):
            t = what.start(*args, **options)
        else:
            t = runtimes.Target([str(a) for a in [*what, *args]], **options)
        started.append(t)
        return t

    yield start
    for t in started:
        t.kill()


def pytest_sessionfinish():
    runtimes.clean()


def pytest_terminal_summary(terminalreporter):
    for name, reason in runtimes.missing():
        terminalreporter.write_line('missing interpreter: %s: %s' % (name, reason))
