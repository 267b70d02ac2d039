"""cspy top as a person sees it: on a terminal, whose cells an emulator reads back."""
import json
import os
import re
import signal
import time
import xml.etree.ElementTree

import pytest
import runtimes
from cli import begin, end, plain_python, run
from terminal import Terminal
from test_shares import Truth, deviation

WAITS = 'fixtures/targets/python/waits.py'
TARGETS = 'fixtures/targets/'
POINTS = 2.0
ESCAPE = '\x1b'
SIZES = ((80, 24), (200, 60), (40, 10), (20, 5), (100, 30))


def chosen_pythons():
    """By how a thread that waits for the lock is told: 3.7 to 3.11, since 3.12, and the newest."""
    found = [p for p in runtimes.pythons() if not p.debug and not p.nogil]
    kinds = [next((p for p in found if p.version[:2] == v), None) for v in ((3, 8), (3, 12))]
    return sorted({p for p in [*kinds, max(found, key=lambda p: p.version)] if p}, key=lambda p: p.version)


def chosen_rubies():
    """3.1 and 3.3, whose threads differ; the machine may have one of them only."""
    return [r for r in runtimes.rubies() if r.version[:2] in ((3, 1), (3, 3))]


def plain_ruby():
    """The newest Ruby here."""
    if not runtimes.rubies():
        pytest.skip('there is no Ruby here')
    return max(runtimes.rubies(), key=lambda r: r.version)


@pytest.fixture
def waiting(target):
    t = target(plain_python(), WAITS, 600)
    assert t.line() == 'ready'
    return t


@pytest.fixture
def top(cspy):
    """top(target, options...): cspy top on a terminal, with its first numbers shown."""
    opened = []

    def start(t, *options, columns=100, rows=30, env=(), **popen):
        terminal = Terminal([cspy, 'top', '-p', t.pid, '--delay', '0.3', *options], columns, rows, env, **popen)
        opened.append(terminal)
        terminal.wait(lambda s: re.search(r'^ *\d+\.\d\d .*\(', s.text(), re.M))
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__()


def functions(text):
    """{function: (own, total)} of a table, in its order."""
    found = re.findall(r'^ *(\d+\.\d\d) +(\d+\.\d\d) (?: +\d+\.\d\d +\d+\.\d\d)? *(\S+) \(', text, re.M)
    return {re.split('[.#]', name)[-1]: (float(own), float(total)) for own, total, name in found}


def states(text):
    """{thread's name: state}"""
    return dict(re.findall(r'^ *\d+ (\S+) +([a-z]\S*) +\d+ ', text, re.M))


def selected(terminal):
    """The row that is drawn as selected, without the head of a table."""
    rows = [y for y in range(terminal.screen.lines) if terminal.screen.buffer[y][0].reverse]
    return terminal.rows()[rows[-1]] if rows else ''


# ---- What it shows ----


@pytest.mark.parametrize('chosen', chosen_pythons(), ids=lambda i: i.name)
def test_a_threads_state_says_what_it_waits_for(chosen, target, top):
    t = target(chosen, WAITS, 600)
    assert t.line() == 'ready'
    screen = top(t)
    expected = {name: name for name in ('epoll', 'read', 'sleep', 'futex')}
    expected['MainThread'] = 'run'
    if chosen.version < (3, 8):
        del expected['sleep']  # select() until then
    elif chosen.version < (3, 11):
        expected['sleep'] = 'poll'
    screen.press('t', lambda s: 'view: threads' in s.text() and states(s.text()) == expected)
    screen.wait(lambda s: re.search(r'^ GIL \[#+\.*\] +(9\d|100)% held .*top holder: MainThread', s.text(), re.M))
    screen.wait(lambda s: 'threads 5: 1 run  4 idle' in s.text())
    screen.wait(lambda s: 'MainThread' in selected(s))  # sorted by CPU
    screen.wait(lambda s: re.search(r'MainThread +run .* \d+ +(9\d|100) +0  work \(waits.py:\d+\)', s.text()))


@pytest.mark.parametrize('chosen', chosen_pythons(), ids=lambda i: i.name)
def test_threads_that_wait_for_the_lock_are_told_from_others(chosen, target, top):
    t = target(chosen, TARGETS + 'python/truth_threads.py', 600)
    t.line()
    screen = top(t)
    screen.press('t', lambda s: 'gil-wait' in s.text() and re.search(r'[1-9]\d?% waited', s.text()))


@pytest.mark.parametrize('chosen', chosen_rubies(), ids=lambda i: i.name)
def test_ruby_has_states_and_a_lock_of_its_own(chosen, target, top):
    t = target(chosen, TARGETS + 'ruby/states.rb')
    assert t.line() == 'ready'
    screen = top(t)
    screen.press('t', lambda s: {'busy', 'sleeps', 'reads', 'waits'} <= set(re.findall(r'^ *\d+ (\w+)', s.text(), re.M)))
    screen.wait(lambda s: re.search(r'^ GVL \[#+\.*\] +(9\d|100)% held', s.text(), re.M))
    screen.wait(lambda s: re.search(r'^ *\d+ busy(?: too)? +(run|gvl-wait)', s.text(), re.M))
    screen.wait(lambda s: not re.search(r'^ *\d+ (sleeps|reads|waits) +(run|gvl-wait|gc)', s.text(), re.M))
    screen.press('f', lambda s: functions(s.text()).get('busy_one', (0, 0))[1] > 80)


def numbers_are_the_program_s(t, log, screen, seconds):
    """Functions' own shares since a reset, once the first has been at work for so long, are those that it measured."""
    seen = lambda: int(re.search(r'samples (\d+)', screen.text()).group(1))  # noqa: E731
    start, before = time.time(), seen()
    screen.press('r', lambda s: functions(s.text()))
    screen.press('a', 'since start')
    screen.wait(lambda s: any(float(x) >= seconds for x in re.findall(r' (\d+\.\d\d)  \S+ \(', s.text())), 40)
    screen.press('p', 'PAUSED')
    truth, n = Truth(log, start, time.time()), max(1, seen() - before)
    shown = functions(screen.text())
    print('%d samples; %s; truth %s' % (n, shown, truth.whole))
    for name in truth.functions - {'drive'}:
        was = 100 * truth.whole.get(name, 0)
        limit = POINTS + 3 * deviation(was / 100, n) + max(abs(was - 100 * truth.quiet.get(name, 0)), 100 * truth.lost)
        assert abs(shown[name][0] - was) <= limit, (name, shown, truth.whole)


@pytest.mark.parametrize('mode', ['--blocking', 'default'])
def test_shares_are_what_the_program_measured(target, top, mode, tmp_path):
    log = str(tmp_path / 'log')
    t = target(plain_python(), TARGETS + 'python/shares_long.py', 600, log, beside=[TARGETS + 'python/shares_known.py'])
    assert t.line() == 'ready'
    screen = top(t, '-r', 1000, *([mode] if mode != 'default' else []), rows=40)
    numbers_are_the_program_s(t, log, screen, 4)


def test_shares_of_a_ruby_are_what_it_measured(target, top):
    ruby = plain_ruby()
    log = os.path.join(os.path.dirname(ruby.place(TARGETS + 'ruby/shares_long.rb')), 'top-log')
    t = target(ruby, TARGETS + 'ruby/shares_long.rb', 600, log, beside=[TARGETS + 'ruby/shares_known.rb'])
    assert t.line() == 'ready'
    numbers_are_the_program_s(t, (ruby.root or '') + log, top(t, '-r', 1000, rows=40), 2)


def test_views_of_a_ruby_open_by_keys(target, top):
    ruby = plain_ruby()
    t = target(ruby, TARGETS + 'ruby/states.rb')
    assert t.line() == 'ready'
    screen = top(t)
    screen.press('1', 'sorted by %Own')
    screen.press('/levels.*busy_one\r', lambda s: 'Integer#times' not in s.text().partition('%Own')[2])
    screen.wait(lambda s: 'block (2 levels) in Object#busy_one (states.rb' in s.text())
    screen.press('\r', lambda s: 'callers and callees of block (2 levels) in Object#busy_one (states.rb' in s.text())
    screen.press(ESCAPE, 'view: functions')
    screen.press('c', lambda s: re.search(r'\d+\.\d\d +\d+\.\d\d +7 +loop \{ 1000\.times', s.text()))
    screen.press(ESCAPE, 'view: functions')
    screen.press('l', 'busy_one (states.rb:7)')
    screen.press('/', 'filter:')
    screen.press('\x15\r', 'Integer#times')
    screen.press('x', lambda s: re.search(r'- thread busy(?: too)? \(\d+\)\n.* - block in <main> \(states.rb:1[56]\)\n', s.text()))
    screen.press('t', 'view: threads')
    screen.press('\r', lambda s: re.search(r'stack of \w[\w ]* \(\d+\): \w', s.text()))
    screen.press('q', lambda s: s.process.poll() is not None)
    assert screen.end() == 0 and screen.is_restored()


@pytest.fixture
def resting(target, tmp_path):
    t = target(plain_python(), TARGETS + 'python/rests.py', 600, str(tmp_path / 'log'))
    assert t.line() == 'ready'
    return t


def test_threads_that_rest_keep_their_shares(resting, cspy, tmp_path):
    """They are in few looks, which stand for the others."""
    start = time.time()
    r = run(cspy, 'top', '--json', '-n', 1, '--delay', 9, resting.pid)
    end = time.time()
    assert r.code == 0 and r.err == '', r
    top = json.loads(r.out)
    with open(tmp_path / 'log') as f:
        rows = [x for x in map(json.loads, f.read().split('\n')[:-1]) if start <= x['time'] <= end]
    shown = {f['function']: f for f in top['functions']}
    assert len(top['threads']) == 21
    for name, threads in (('in_native', 6), ('in_python', 1)):
        whole = rows[-1]['time'] - rows[0]['time']
        share = 100 * (rows[-1]['worked'][name] - rows[0]['worked'][name]) / whole / threads
        # Who works without the lock is met by chance, eight looks in place of one: 6.4 looks' deviation a burst of ten.
        n = top['window_looks']
        spread = 100 * 6.4 * (whole * threads) ** 0.5 / n / threads if name == 'in_native' else deviation(share / 100, n)
        print(name, shown[name]['total'] / threads, share, spread)
        assert abs(shown[name]['total'] / threads - share) <= POINTS + 3 * spread, (name, shown[name], share, spread)


def test_a_thread_that_rested_is_shown_when_it_works(resting, top):
    screen = top(resting, columns=140, rows=60)
    screen.press('t', lambda s: states(s.text()).get('woken') == 'futex')
    screen.wait(lambda s: int(re.search(r'samples (\d+)', s.text()).group(1)) > 60)
    os.kill(resting.pid, signal.SIGUSR1)
    screen.wait(lambda s: states(s.text())['woken'] == 'run')
    screen.wait(lambda s: {k: v for k, v in states(s.text()).items() if k.startswith('waits-')} ==
                {'waits-%d' % i: 'futex' for i in range(12)})
    screen.press('f', lambda s: functions(s.text()).get('woken', (0, 0))[1] > 80)


def test_recursion_counts_once(waiting, top):
    screen = top(waiting)
    own, total = screen.wait(lambda s: functions(s.text()).get('deep'))
    assert total <= 100.5 and own < 20


# ---- Keys ----


def test_views_open_and_close_by_keys(waiting, top):
    screen = top(waiting)
    screen.press('1', 'sorted by %Own')
    screen.wait(lambda s: list(functions(s.text()))[0] == 'work')
    screen.press('\r', 'callers and callees of work (waits.py')
    screen.wait(lambda s: re.search(r'called by deep \(', s.text()))
    screen.press('c', lambda s: re.search(r'\d+\.\d\d +\d+\.\d\d +\d+ +x \+= i \* i', s.text()))
    screen.wait(lambda s: 'waits.py' in s.text() and 'return x' in s.text())
    screen.press(ESCAPE, 'callers and callees of work')
    screen.press(ESCAPE, 'view: functions')
    screen.press('l', 'view: lines')
    screen.wait(lambda s: re.search(r'work \(waits.py:\d+\)\n.*work \(waits.py:\d+\)', s.text()))
    screen.press('l', 'view: functions')
    screen.press('x', lambda s: re.search(r'- thread MainThread \(\d+\)\n.* - <module> \(waits.py:1\)\n', s.text()))
    screen.press('\r', lambda s: '+ thread MainThread' in s.text() and '<module>' not in s.text())
    screen.press('t', 'view: threads')
    screen.press('\r', lambda s: re.search(r'stack of MainThread \(\d+\): run\n work .*\n deep ', s.text()))
    screen.press('?', 'begin to count anew')
    screen.press(' ', 'stack of MainThread')
    screen.press('q', lambda s: s.process.poll() is not None)
    assert screen.end() == 0 and screen.is_restored()


def test_the_selected_row_stays_selected_while_the_table_moves(waiting, top):
    screen = top(waiting)
    screen.press('1', 'sorted by %Own')
    screen.wait(lambda s: 'work (' in selected(s))
    screen.press('\x1bOB', lambda s: selected(s) and 'work (' not in selected(s))  # as an xterm that was told so
    screen.press('\x1b[A', lambda s: 'work (' in selected(s))
    for column, title in (('4', 'TotalTime'), ('1', '%Own'), ('2', '%Total'), ('1', '%Own')):
        screen.press(column, lambda s: s.rows()[-1] == 'sorted by ' + title)
        screen.wait(lambda s: 'work (' in selected(s))
    screen.press('/^(work|deep)\r', lambda s: len(functions(s.text())) == 2)
    screen.wait(lambda s: 'work (' in selected(s))


def test_functions_are_filtered_by_a_regular_expression(waiting, top):
    screen = top(waiting)
    screen.press('/', 'filter:')
    screen.press('^WOR.$', 'filter: ^WOR.$')
    screen.press('\r', 'view: functions')
    screen.press('/', 'filter: ^WOR.$')
    screen.press('\x15', lambda s: 'filter: ^' not in s.text())
    screen.press('^wor[k] .', 'filter: ^wor[k] .')
    screen.press('\r', lambda s: list(functions(s.text())) == ['work'])
    screen.wait(lambda s: '/^wor[k]' in s.rows()[1])
    screen.press('/', 'filter:')
    screen.press('(\r', 'is no regular expression')
    screen.wait(lambda s: list(functions(s.text())) == ['work'])


def test_help_is_whole_on_a_small_screen_and_any_key_leaves_it(waiting, top):
    screen = top(waiting, columns=80, rows=24)
    screen.press('?', lambda s: 'any key leaves it' in s.text() and "interpreter's lock, or waited for it" in s.text())
    screen.press('q', '%Own  %Total')
    assert screen.process.poll() is None
    screen.press('Z', 'Z is no key here')
    screen.press('j', lambda s: s.rows()[-1] == ' q quit  ? help  enter callers  c code  v view  / filter  s sort  l lines')


def test_the_head_has_the_program_before_its_folders(waiting, top):
    screen = top(waiting, columns=80, rows=24)
    assert re.match(r'cspy top - waits\.py 600  ', screen.rows()[0]), screen.rows()[0]


def test_pausing_stops_looking_and_reset_begins_anew(waiting, top):
    screen = top(waiting)
    samples = lambda s: int(re.search(r'samples (\d+)', s.text()).group(1))  # noqa: E731
    screen.press('p', 'PAUSED')
    before, clock = samples(screen), screen.rows()[0].split()[-2]
    screen.wait(lambda s: s.rows()[0].endswith('PAUSED') and s.rows()[0].split()[-2] > clock)
    assert samples(screen) == before
    screen.press(' ', 'LIVE')
    screen.wait(lambda s: samples(s) > before)
    screen.press('r', lambda s: re.search(r'^ *\d+\.\d\d +\d+\.\d\d +[01]\.\d\d +[01]\.\d\d +work', s.text(), re.M))


def test_idle_threads_count_when_wanted(waiting, top):
    screen = top(waiting)
    screen.wait(lambda s: 'waits_for_read' not in functions(s.text()))
    screen.press('i', lambda s: functions(s.text()).get('waits_for_read', (0, 0))[0] > 90)
    screen.wait(lambda s: 'idle too' in s.rows()[1])
    screen.press('i', lambda s: 'waits_for_read' not in functions(s.text()) and functions(s.text()))
    screen.press('g', 'lock only')


def test_a_snapshot_is_a_flame_graph_in_the_working_folder(waiting, top, tmp_path):
    screen = top(waiting, cwd=str(tmp_path))
    name = screen.press('w', lambda s: re.search(r'wrote (cspy-%d-\d+-\d+\.svg)' % waiting.pid, s.text())).group(1)
    assert 'work' in xml.etree.ElementTree.tostring(xml.etree.ElementTree.parse(str(tmp_path / name)).getroot(), 'unicode')
    screen.press('x', 'view: tree')


# ---- The terminal ----


def test_every_size_is_filled_and_not_exceeded(waiting, top):
    screen = top(waiting)
    for columns, rows in SIZES:
        screen.resize(columns, rows)
        screen.wait(lambda s: s.rows()[0].startswith('cspy top') and s.rows()[rows - 1].startswith(' q quit'))
        screen.wait(lambda s: 'work' in s.text() and s.rows()[0].endswith('LIVE'))
        assert all(len(r) <= columns for r in screen.rows())
        for key, word in (('x', '%Total'), ('t', 'MainThr'), ('?', 'cspy top: keys'), (' ', 'MainThr'), ('f', 'work')):
            screen.press(key, word)
    screen.press('q', lambda s: s.process.poll() is not None)
    assert screen.end() == 0 and screen.is_restored()


@pytest.mark.parametrize('columns,rows', SIZES[:4])
def test_it_starts_at_any_size(waiting, top, columns, rows):
    screen = top(waiting, columns=columns, rows=rows)
    screen.wait(lambda s: 'work' in s.text() and s.rows()[0].endswith('LIVE'))
    if columns >= 80:
        screen.wait(lambda s: re.search(r'^ CPU \[', s.text(), re.M))
        screen.wait(lambda s: re.search(r'^ +TID name +STATE', s.text(), re.M) or rows < 30)
    else:
        screen.wait(lambda s: 'OwnTime' not in s.text())


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(waiting, top, number):
    screen = top(waiting)
    os.kill(screen.process.pid, number)
    assert screen.end() == 0
    assert screen.is_restored()


def test_a_crash_leaves_the_terminal_as_it_was(waiting, top):
    screen = top(waiting)
    os.kill(screen.process.pid, signal.SIGSEGV)
    assert screen.end() != 0
    assert screen.is_restored()


def test_ctrl_c_quits(waiting, top):
    screen = top(waiting)
    screen.type('\x03')
    assert screen.end() == 0 and screen.is_restored()


def test_ctrl_z_gives_the_terminal_back_until_fg(waiting, cspy):
    with Terminal(['bash', '--norc', '--noprofile', '-i'], 120, 30, env={'PS1': 'prompt> '}) as shell:
        shell.wait('prompt>')
        shell.press('%s top --delay 0.3 -p %d\n' % (cspy, waiting.pid), 'view: functions')
        shell.press('\x1a', 'Stopped')
        shell.screen.reset()
        shell.press('echo and | tr a A; stty -a | tr ";" "\\n" | grep -w icanon\n', 'And')
        shell.wait(lambda s: re.search(r' icanon', s.text()))
        shell.press('fg\n', lambda s: s.rows()[0].startswith('cspy top') and s.rows()[-1].startswith(' q quit'))
        shell.press('t', 'view: threads')
        shell.press('q', lambda s: s.raw.count(b'\x1b[?1049l') >= 2)
        shell.press('echo code $?\n', 'code 0')


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_program_freezes_the_last_table(waiting, top, number):
    screen = top(waiting)
    screen.wait(lambda s: functions(s.text()).get('work', (0, 0))[0] > 50)
    os.kill(waiting.pid, number)
    screen.wait('ENDED')
    screen.wait(lambda s: functions(s.text())['work'][0] > 50)
    screen.press('\r', 'callers and callees')
    screen.press('x', 'view: tree')
    screen.type('q')
    assert screen.end() == 0 and screen.is_restored()


def test_no_color_is_kept(waiting, top):
    screen = top(waiting, env={'NO_COLOR': '1'})
    screen.wait(lambda s: s.raw.count(b'LIVE') > 0)
    assert not re.search(rb'\x1b\[[0-9;]*\b3[0-7]m', screen.raw)
    assert re.search(rb'\x1b\[[0-9;]*\b3[0-7]m', top(waiting).raw)


NAMES = '''
# -*- coding: utf-8 -*-
import sys, time
def größe(n):
    x = 0
    for i in range(n):
        x += i
    return x
print("ready")
sys.stdout.flush()
end = time.time() + 600
while time.time() < end:
    größe(20000)
'''


@pytest.mark.parametrize('locale,name', [('C.UTF-8', 'größe'), ('C', 'gr??e')])
def test_only_characters_that_the_terminal_knows_are_drawn(target, top, locale, name):
    t = target([*plain_python().argv, '-c', NAMES])
    assert t.line() == 'ready'
    screen = top(t, env={'LANG': locale})
    screen.wait(name + ' (')
    assert locale != 'C' or all(b < 128 for b in screen.raw)


@pytest.mark.parametrize('term', ['dumb', 'no-such-terminal', None])
def test_a_terminal_without_a_cursor_gets_plain_tables(waiting, cspy, term):
    with Terminal([cspy, 'top', '-n', 1, '--delay', '0.3', '-p', waiting.pid], env={'TERM': term}) as t:
        assert t.end() == 0
        assert b'\x1b' not in t.raw
        assert 'work (waits.py:' in t.raw.decode()
    with Terminal([cspy, 'top', '--delay', '0.3', '-p', waiting.pid], env={'TERM': term}) as t:
        t.wait(lambda s: s.raw.count(b'cspy top -') >= 2)
        assert b'plain tables: TERM names' in t.raw and b'\x1b' not in t.raw


def test_a_started_program_does_not_spoil_the_screen_and_gives_its_exit_code(cspy):
    program = 'import time\nfor i in range(40):\n    print("spoilt", flush=True)\n    sum(range(300000))\n    time.sleep(0.02)\nexit(7)'
    with Terminal([cspy, 'top', '--delay', '0.2', '--', *plain_python().argv, '-c', program]) as t:
        t.wait('<module> (')
        t.wait('ENDED')
        t.type('q')
        assert t.end() == 7
        assert b'spoilt' not in t.raw and t.is_restored()


# ---- Without a terminal ----


NUMBER, TEXT = (int, float), str
THREAD = {'pid': int, 'tid': int, 'name': TEXT, 'state': TEXT, 'cpu': NUMBER, 'held': NUMBER, 'waited': NUMBER}
PROCESS = {'pid': int, 'parent': int, 'command': TEXT, 'runtime': TEXT, 'threads': int, 'cpu': NUMBER, 'held': NUMBER,
           'waited': NUMBER, 'gc': NUMBER}
FUNCTION = {'function': TEXT, 'file': TEXT, 'line': int, 'own': NUMBER, 'total': NUMBER, 'own_seconds': NUMBER,
            'total_seconds': NUMBER}
SCHEMA = {'clock': TEXT, 'status': TEXT, 'pid': int, 'command': TEXT, 'runtime': TEXT, 'rate': NUMBER, 'failed': NUMBER,
          'late': NUMBER, 'self_cpu': NUMBER, 'samples': int, 'window_looks': int, 'cpu': NUMBER, 'gc': NUMBER,
          'lock': {'name': TEXT, 'held': NUMBER, 'waited': NUMBER, 'top_holder': TEXT}, 'processes': [PROCESS],
          'threads': [THREAD],
          'functions': [FUNCTION]}


def check(value, schema, where='top'):
    if isinstance(schema, dict):
        assert set(value) == set(schema), where
        for key in schema:
            check(value[key], schema[key], where + '.' + key)
    elif isinstance(schema, list):
        assert isinstance(value, list), where
        for v in value:
            check(v, schema[0], where + '[]')
    else:
        assert isinstance(value, schema) and not isinstance(value, bool), (where, value)


def test_json_is_one_object_a_delay(waiting, cspy):
    r = run(cspy, 'top', '--json', '-n', '3', '--delay', '0.3', waiting.pid)
    assert r.code == 0 and r.err == '', r
    rows = [json.loads(line) for line in r.out.splitlines()]
    assert len(rows) == 3
    for row in rows:
        check(row, SCHEMA)
        assert row['pid'] == waiting.pid and row['status'] == 'LIVE'
        assert [p['pid'] for p in row['processes']] == [waiting.pid] and {t['pid'] for t in row['threads']} == {waiting.pid}
        assert {t['name'] for t in row['threads']} == {'MainThread', 'epoll', 'read', 'sleep', 'futex'}
        assert sum(f['own'] for f in row['functions']) <= 100.5
    assert rows[2]['samples'] > rows[1]['samples'] > rows[0]['samples'] > 0
    assert rows[2]['functions'][0]['function'] == 'work' and rows[2]['functions'][0]['file'].startswith('/')
    lines = json.loads(run(cspy, 'top', '--json', '--once', '-l', '--delay', '0.3', waiting.pid).out)['lines']
    assert lines[0]['function'] == 'work' and lines[0]['line'] > 0


def test_batch_prints_plain_tables_with_the_same_numbers(waiting, cspy):
    r = run(cspy, 'top', '-b', '-n', '2', '--delay', '0.3', '-p', waiting.pid)
    assert r.code == 0 and r.err == '', r
    assert r.out.count('cspy top - ') == 2 and '\x1b' not in r.out
    tables = r.out.split('\n\n')
    for table in tables[:2]:
        assert functions(table)['work'][0] > 50
        assert states(table)['read'] == 'read'
    once = run(cspy, 'top', '--once', '--delay', '0.3', '--filter', 'deep', '-p', waiting.pid)
    assert once.out.count('cspy top - ') == 1 and list(functions(once.out)) == ['deep']


def test_batch_ends_with_the_program_or_by_a_signal(waiting, cspy):
    p = begin(cspy, 'top', '--json', '--delay', '0.2', '-p', waiting.pid)
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    assert end(p).code == 0
    p = begin(cspy, 'top', '--json', '--delay', '0.2', '-p', waiting.pid)
    p.stdout.readline()
    waiting.process.kill()
    r = end(p)
    assert r.code == 0
    assert json.loads(r.out.splitlines()[-1])['status'] in ('LIVE', 'ENDED')


def test_wrong_use_is_refused_with_advice(cspy, waiting):
    for args, words in (([], 'nothing to watch'), (['-p', waiting.pid, '--', 'x'], 'only one of them'),
                        (['-p', waiting.pid, '--delay', '1ms'], '--delay'), (['x'], 'one process id'),
                        (['-p', waiting.pid, '--native', '--nonblocking'], 'only while it is stopped'),
                        (['-p', waiting.pid, '--once', '--filter', '('], 'regular expression')):
        r = run(cspy, 'top', *args)
        assert r.code == 2 and words in r.err, r
    assert run(cspy, 'top', '--help').code == 0
    assert run(cspy, 'top', '--once', '-p', 1 << 21).code == 5
