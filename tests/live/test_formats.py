"""The files that cspy writes, as their own readers see them."""
import base64
import fcntl
import html
import json
import os
import re
import shutil
import subprocess
import tarfile

import cli
import pytest
import runtimes

SPEEDSCOPE = 'speedscope@1.25.0'
SCHEMA = 'file-format-schema.json'

# Names from which a line, a field or a string could be broken out of. hot() has most of the time.
HOSTILE = r'''
import sys, time
source = """
def hot(n):
    for i in range(n):
        pass
def main(end, clock):
    while clock() < end:
        hot(20000)
"""
names = {}
exec(compile(source, "dir;one\n;two 12\x1b[31m/\"},{\"x\": 1\n# 7.py", "exec"), names)
names["hot"].__code__ = names["hot"].__code__.replace(co_name="h;o\nt \u2028 </script>'\"&\\ 5")
names["main"].__code__ = names["main"].__code__.replace(co_name="# main 3")
print("ready")
sys.stdout.flush()
names["main"](time.time() + float(sys.argv[1]), time.time)
'''

THREADS = '''
import sys, threading, time
def work(end):
    while time.time() < end:
        pass
def by_turns(end):
    while time.time() < end:
        work(time.time() + 0.1)
        time.sleep(0.3)
end = time.time() + float(sys.argv[1])
print("ready")
sys.stdout.flush()
threading.Thread(target=by_turns, args=(end,), name="turns").start()
work(end)
'''


def record(cspy, t, path, *options):
    r = cli.run(cspy, 'record', '-p', t.pid, '-o', path, '-d', '1.5', *options)
    assert r.code == 0, r
    return r


@pytest.fixture(scope='module')
def speedscope():
    """Folder of speedscope's own release, fetched once."""
    cache = os.path.join(runtimes.ROOT, os.environ.get('CSPY_RUNTIMES') or 'build/runtimes')
    folder = os.path.join(cache, SPEEDSCOPE.replace('@', '-'))
    os.makedirs(cache, exist_ok=True)
    with open(folder + '.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            if not shutil.which('npm'):
                pytest.skip('there is no npm to fetch %s' % SPEEDSCOPE)
            fetch(cache, folder)
    return os.path.join(folder, 'package', 'dist', 'release')


def fetch(cache, folder):
    try:
        p = subprocess.run(['npm', 'pack', '--silent', SPEEDSCOPE], cwd=cache, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
    except subprocess.TimeoutExpired:
        pytest.skip('npm could not fetch %s in time' % SPEEDSCOPE)
    if p.returncode:
        pytest.skip('npm could not fetch %s' % SPEEDSCOPE)
    archive = os.path.join(cache, p.stdout.decode().split()[-1])
    with tarfile.open(archive) as tar:
        tar.extractall(folder + '.partial')
    os.remove(archive)
    os.rename(folder + '.partial', folder)


def violations(schema, value, node=None, path='$'):
    """How a value breaks a JSON schema. A keyword that is not known here is an error: nothing passes unchecked."""
    node = schema if node is None else node
    types = {'object': dict, 'array': list, 'string': str, 'number': (int, float)}
    for key, rule in node.items():
        if key == '$ref':
            yield from violations(schema, value, schema['definitions'][rule.rpartition('/')[2]], path)
        elif key == 'type':
            if not isinstance(value, types[rule]) or isinstance(value, bool):
                yield '%s is no %s' % (path, rule)
        elif key == 'const' or key == 'enum':
            if value not in (rule if key == 'enum' else [rule]):
                yield '%s is %r' % (path, value)
        elif key == 'required':
            yield from ('%s has no %s' % (path, k) for k in rule if k not in value)
        elif key == 'properties':
            for k in set(rule) & set(value):
                yield from violations(schema, value[k], rule[k], '%s.%s' % (path, k))
        elif key == 'items':
            for i, item in enumerate(value):
                yield from violations(schema, item, rule, '%s[%d]' % (path, i))
        elif key == 'anyOf':
            found = [list(violations(schema, value, r, path)) for r in rule]
            if all(found):
                yield from min(found, key=len)
        else:
            assert key in ('$schema', 'definitions', 'title'), key


def read_speedscope(path):
    with open(str(path), encoding='utf-8') as f:
        return json.load(f, parse_constant=lambda name: pytest.fail('%s is no JSON' % name))


def names_by_weight(file, profile):
    """{tuple of function names, root first: nanoseconds}"""
    frames = [f['name'] for f in file['shared']['frames']]
    seen = {}
    assert len(profile['samples']) == len(profile['weights'])
    for stack, weight in zip(profile['samples'], profile['weights']):
        stack = tuple(frames[i] for i in stack)
        seen[stack] = seen.get(stack, 0) + weight
    return seen


def test_folded_lines_add_up_to_the_samples(cspy, target, tmp_path):
    t = cli.start(target, cli.BUSY, 30)
    record(cspy, t, tmp_path / 'x.folded', '--stats', tmp_path / 'stats.json')
    stacks = cli.folded((tmp_path / 'x.folded').read_text())
    assert sum(stacks.values()) == cli.stats(str(tmp_path / 'stats.json'))['samples']
    assert cli.share(stacks, 'hot') > 0.9, stacks


@pytest.mark.parametrize('name, first', [('x.folded', b'<module>'), ('x.txt', b'<module>'), ('x.raw', b'<module>'),
                                         ('x.json', b'{'), ('x.svg', b'<'), ('x.bin', b'<'), ('x.txt/y', b'<?')])
def test_the_ending_chooses_the_format(cspy, target, tmp_path, name, first):
    t = cli.start(target, cli.BUSY, 30)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    r = cli.run(cspy, 'record', '-q', '-p', t.pid, '-o', tmp_path / name, '-d', '0.2')
    assert r.code == 0, r
    assert (tmp_path / name).read_bytes().startswith(first)


def test_folded_is_sorted_and_has_each_stack_once(cspy, target, tmp_path):
    t = cli.start(target, cli.BUSY, 30)
    record(cspy, t, tmp_path / 'x.folded', '-F', '--nolineno')
    lines = [line.rpartition(' ')[0].split(';') for line in (tmp_path / 'x.folded').read_text().splitlines()]
    assert lines == sorted(lines)
    assert len({tuple(line) for line in lines}) == len(lines)


def test_hostile_names_leave_folded_lines_whole(cspy, target, tmp_path):
    t = cli.start(target, HOSTILE, 30)
    record(cspy, t, tmp_path / 'x.folded', '--stats', tmp_path / 'stats.json')
    text = (tmp_path / 'x.folded').read_bytes().decode('utf-8')
    lines = text.split('\n')
    assert lines.pop() == ''
    assert lines == text.splitlines()
    for line in lines:
        assert re.match(r'[^#\s].* [1-9]\d*$', line), line
        assert not re.search(r' \d+ \d+$', line), line
    assert sum(cli.folded(text).values()) == cli.stats(str(tmp_path / 'stats.json'))['samples']
    hot = "h:o t   </script>'\"&\\ 5 ("
    assert any(line.split(';')[-1].startswith(hot) for line in lines), lines
    assert {len(line.split(';')) for line in lines if hot in line} == {3}, lines


def test_speedscope_files_fit_the_schema(cspy, target, tmp_path, speedscope):
    t = cli.start(target, THREADS, 30)
    record(cspy, t, tmp_path / 'x.json', '-f', 'speedscope')
    with open(os.path.join(speedscope, SCHEMA)) as f:
        schema = json.load(f)
    file = read_speedscope(tmp_path / 'x.json')
    assert list(violations(schema, file)) == []
    del file['profiles'][0]['weights']
    file['shared']['frames'][0]['line'] = None
    assert len(list(violations(schema, file))) == 2, 'a broken file was not noticed'


def test_speedscope_shows_threads_on_one_clock_with_their_idle_time(cspy, target, tmp_path):
    t = cli.start(target, THREADS, 30)
    record(cspy, t, tmp_path / 'x.json', '-f', 'speedscope', '--stats', tmp_path / 'stats.json')
    file = read_speedscope(tmp_path / 'x.json')
    wall = cli.stats(str(tmp_path / 'stats.json'))['wall_ns']
    assert len(file['profiles']) == 2
    for profile in file['profiles']:
        assert profile['startValue'] == 0
        assert profile['endValue'] == sum(profile['weights'])
        assert abs(profile['endValue'] - wall) < 0.2 * wall
        seen = names_by_weight(file, profile)
        turns = any('by_turns' in stack for stack in seen)
        idle = seen.get((), 0) / profile['endValue']
        assert idle > 0.4 if turns else idle < 0.3, (turns, idle)


def test_hostile_names_leave_speedscope_files_whole(cspy, target, tmp_path):
    t = cli.start(target, HOSTILE, 30)
    record(cspy, t, tmp_path / 'x.json', '-f', 'speedscope')
    names = {f['name'] for f in read_speedscope(tmp_path / 'x.json')['shared']['frames']}
    assert 'h;o\nt \u2028 </script>\'"&\\ 5' in names
    assert '# main 3' in names


def test_speedscope_itself_loads_the_file(cspy, target, tmp_path, speedscope):
    chromium = shutil.which('chromium')
    if not chromium:
        pytest.skip('there is no chromium here')
    t = cli.start(target, HOSTILE, 30)
    record(cspy, t, tmp_path / 'x.json', '-f', 'speedscope', '--title', 'a <title> "of" this test')
    thread = read_speedscope(tmp_path / 'x.json')['profiles'][0]['name']
    data = base64.b64encode((tmp_path / 'x.json').read_bytes()).decode()
    (tmp_path / 'load.js').write_text('speedscope.loadFileFromBase64("x.json", "%s")' % data)
    url = 'file://%s/index.html#localProfilePath=%s' % (speedscope, tmp_path / 'load.js')
    p = subprocess.run([chromium, '--headless', '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
                        '--enable-unsafe-swiftshader', '--virtual-time-budget=8000',
                        '--user-data-dir=%s' % (tmp_path / 'browser'), '--dump-dom', url],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
    page = html.unescape(p.stdout.decode())
    assert '<title>a <title> "of" this test - speedscope</title>' in page, page
    assert thread in page, page
