"""cspy top on what has no interpreter that it reads: native programs, and a JIT's code by its perf map."""
import os
import re
import signal
import subprocess
import tempfile

import pytest
import runtimes
from cli import need
from test_perfmap import APART, MAGLEV, PERF, maps, start_java, write_java_map  # noqa: F401
from terminal import Terminal
from test_top import functions, numbers_are_the_program_s, top  # noqa: F401

# Every look pauses these; where pauses take long, as on a busy machine, the budget would leave too few.
OPTIONS = ('-r', 200, '--max-pause', '50%')


@pytest.fixture(scope='module')
def shares_program(tmp_path_factory):
    out = str(tmp_path_factory.mktemp('native') / 'shares')
    subprocess.run([need('gcc'), '-O2', '-g', '-o', out, os.path.join(runtimes.ROOT, 'fixtures/targets/native/shares.c')], check=True)
    return out


def test_shares_of_a_native_program_are_what_it_measured(shares_program, target, top, tmp_path):  # noqa: F811
    log = str(tmp_path / 'log')
    t = target([shares_program, '600', log])
    assert t.line() == 'ready'
    screen = top(t, '--native', *OPTIONS, rows=40)
    numbers_are_the_program_s(t, log, screen, 2)
    screen.press('p', lambda s: 'PAUSED' not in s.text())
    screen.press('t', lambda s: re.search(r'^ *%d shares +run ' % t.pid, s.text(), re.M))
    screen.press('\r', lambda s: re.search(r'stack of shares \(\d+\)', s.text()) and 'drive (' in s.text() and 'main (' in s.text())
    screen.press('q', lambda s: s.process.poll() is not None)
    assert screen.end() == 0 and screen.is_restored()


def test_shares_of_a_node_are_what_it_measured(target, top, tmp_path, maps):  # noqa: F811
    if not runtimes.nodes():
        pytest.skip('there is no Node here')
    node = max(runtimes.nodes(), key=lambda n: n.version)
    log, folder = str(tmp_path / 'log'), tempfile.TemporaryDirectory()
    maps.append(folder)
    apart = [APART] + ['--no-maglev-inlining'] * (node.version >= MAGLEV)
    t = target([*node.argv, PERF, *apart, node.place('fixtures/targets/node/shares.js'), '600', log], cwd=folder.name)
    maps.append('/tmp/perf-%d.map' % t.pid)
    assert t.line() == 'ready'
    screen = top(t, *OPTIONS, rows=40)
    numbers_are_the_program_s(t, log, screen, 2)
    screen.press('p', lambda s: 'PAUSED' not in s.text())
    screen.press('x', lambda s: re.search(r'- drive \(.*shares.js', s.text()))
    os.kill(t.pid, signal.SIGKILL)
    screen.wait('ENDED')
    screen.press('f', lambda s: 'burn_10ms' in functions(s.text()))
    screen.press('q', lambda s: s.process.poll() is not None)
    assert screen.is_restored()


def test_functions_of_a_java_program_are_shown(target, cspy, maps):  # noqa: F811
    t = start_java(target, maps)
    write_java_map(t)
    screen = Terminal([cspy, 'top', '-p', t.pid, '--delay', '0.3', *OPTIONS], 100, 40)
    try:
        def is_leaf_hot(s):
            write_java_map(t)  # of one moment: what is compiled later is not in it
            found = re.search(r'^ *(\d+\.\d\d) +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d +Functions\.leaf\(int\)', s.text(), re.M)
            return found and float(found.group(1)) > 80
        screen.wait(is_leaf_hot, 40)
        screen.press('x', lambda s: re.search(r'- Functions\.main\(java.lang.String\[\]\)\n.*- Functions\.middle\(int\)', s.text()))
        screen.press('q', lambda s: s.process.poll() is not None)
        assert screen.is_restored()
    finally:
        screen.__exit__()
