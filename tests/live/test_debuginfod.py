"""--debuginfod: debug files from a server of the user's, and never a word to one without it."""
import os
import socket
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

import cli
import runtimes
from cli import need

SOURCE = os.path.join(runtimes.ROOT, 'fixtures', 'targets', 'native', 'deep.cpp')


@pytest.fixture(scope='module')
def stripped(tmp_path_factory):
    """A program without symbols, and the folder of its debug file."""
    folder = tmp_path_factory.mktemp('stripped')
    whole, naked, debug = str(folder / 'whole'), str(folder / 'naked'), folder / 'debug'
    debug.mkdir()
    subprocess.run([need('g++'), '-O2', '-g', '-Wl,--build-id', '-o', whole, SOURCE], check=True)
    subprocess.run([need('objcopy'), '--only-keep-debug', whole, str(debug / 'whole.debug')], check=True)
    subprocess.run([need('strip'), '-o', naked, whole], check=True)
    return naked, str(debug)


def build_id(path):
    said = subprocess.run([need('readelf'), '-n', path], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    return said.partition('Build ID:')[2].split()[0]


def is_served(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.URLError:  # not there yet, or has not found the file yet
        return False


@pytest.fixture
def server(stripped, tmp_path):
    """A real debuginfod that has the debug file; its URL."""
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        port = s.getsockname()[1]
    p = subprocess.Popen([need('debuginfod'), '-F', '-p', str(port), '-d', str(tmp_path / 'database'), stripped[1]],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         env={k: v for k, v in os.environ.items() if k != 'DEBUGINFOD_URLS'})
    url = 'http://127.0.0.1:%d' % port
    try:
        cli.wait_for(lambda: is_served('%s/buildid/%s/debuginfo' % (url, build_id(stripped[0]))), 60)
        yield url
    finally:
        p.kill()
        p.wait()


@pytest.fixture
def silent():
    """A server that takes connections and says nothing: its URL, and the connections."""
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen(8)
    taken = []

    def take():
        while True:
            try:
                taken.append(listener.accept()[0])
            except OSError:
                return
    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    yield 'http://127.0.0.1:%d' % listener.getsockname()[1], taken
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)
    for connection in taken:
        connection.close()


def environment(url, tmp_path):
    return dict(os.environ, DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=str(tmp_path / 'cache'), DEBUGINFOD_TIMEOUT='2',
                DEBUGINFOD_RETRY_LIMIT='0')


def start(target, program):
    t = target([program, '60'])
    assert t.line() == 'ready'
    return t


def record(cspy, t, env, *options):
    r = cli.run(cspy, 'record', '-n', '--max-pause', '50%', '-d', 1, '-f', 'folded', '-o', '-', '-p', t.pid, *options, env=env)
    assert r.code == 0, r
    return {f for stack in cli.folded(r.out) for f in stack}, r


def test_names_and_lines_come_from_the_server(cspy, target, server, stripped, tmp_path):
    t = start(target, stripped[0])
    env = environment(server, tmp_path)
    frames, r = record(cspy, t, env, '--debuginfod')
    with open(SOURCE) as f:
        text = f.read().splitlines()
    calls = [int(f.rpartition(':')[2].rstrip(')')) for f in frames if f.startswith('main (deep.cpp:')]
    assert calls and all(text[n - 1].strip().startswith('rounds(') for n in calls), frames
    assert not any(f.startswith('naked+') for f in frames), frames
    assert any(line.startswith('cspy: debug files by debuginfod: ') and not line.endswith(' 0 came') for line in r.lines), r

    def shows():
        return 'rounds (deep.cpp' in cli.run(cspy, 'dump', '-n', '--debuginfod', '-p', t.pid, env=env).out
    cli.wait_for(shows)


def test_without_the_option_no_server_is_asked(cspy, target, silent, stripped, tmp_path):
    url, taken = silent
    t = start(target, stripped[0])
    frames, _ = record(cspy, t, environment(url, tmp_path))
    assert any(f.startswith('naked+') for f in frames), frames
    assert cli.run(cspy, 'dump', '-n', '-p', t.pid, env=environment(url, tmp_path)).code == 0
    assert not taken and not os.path.exists(str(tmp_path / 'cache'))


def test_a_server_that_does_not_answer_is_asked_once(cspy, target, silent, stripped, tmp_path):
    url, taken = silent
    t = start(target, stripped[0])
    frames, r = record(cspy, t, environment(url, tmp_path), '--debuginfod')
    if any('libdebuginfod' in line for line in r.lines):
        pytest.skip(r.lines[0])
    assert any(f.startswith('naked+') for f in frames), frames
    assert 'cspy: debug files by debuginfod: 1 asked for, 0 came' in r.lines and taken, r
    assert cli.is_alive(t)


@pytest.mark.parametrize('what', ['no server', 'static'])
def test_where_it_can_not_be_one_line_says_so(cspy, target, stripped, tmp_path, what):
    t = start(target, stripped[0])
    env = environment('' if what == 'no server' else 'http://127.0.0.1:1', tmp_path)
    program = cspy if what == 'no server' else cli.static_cspy(cspy)
    r = cli.run(program, 'dump', '-n', '--debuginfod', '-p', t.pid, env=env)
    assert r.code == 0 and 'naked' in r.out, r
    assert len(r.lines) == 1 and '--debuginfod' in r.lines[0], r
