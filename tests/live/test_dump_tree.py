"""cspy dump --subprocesses: who of many is stuck, and in what."""
import json

import runtimes
from cli import plain_python, run, state, wait_for

POOL = 'fixtures/targets/python/pool.py'
WORKERS = 64


def pool(target):
    t = target(plain_python(), POOL)
    _, stuck, pipe = t.line(60).split()
    wait_for(lambda: state(t.pid) == 'S')
    return t, int(stuck), int(pipe)


def test_the_one_that_is_stuck_is_told_first(cspy, target):
    t, stuck, pipe = pool(target)
    r = run(cspy, 'dump', '-s', t.pid)
    assert r.code == 0 and not r.err, r
    head, *groups = r.out.split('\n\n')
    assert '%d processes, %d with an interpreter' % (WORKERS + 2, WORKERS + 1) in head
    singles = [g for g in groups if g.startswith('1 thread in 1 process (idle): ')]
    assert len(singles) == 2  # the parent, and the one
    one, = [g for g in singles if g.startswith('1 thread in 1 process (idle): %d\n' % stuck)]
    assert 'wait_for_answer (' in one
    assert '[waits: read of %d (pipe:[' % pipe in one
    parent, = [g for g in singles if g != one]
    assert '[waits: wait for process ' in parent
    others = groups[2]
    assert others.startswith('%d threads in %d processes (all idle): ' % (WORKERS - 1, WORKERS - 1))
    assert 'and %d more' % (WORKERS - 1 - 16) in others.splitlines()[0]
    assert 'wait_for_work (' in others
    assert 'No interpreter in process' in groups[3] and ': sleep 600' in groups[3]


def test_one_json_tells_of_the_whole_tree(cspy, target):
    t, stuck, pipe = pool(target)
    r = run(cspy, 'dump', '-s', '--json', '-l', t.pid)
    assert r.code == 0 and not r.err, r
    tree = json.loads(r.out)
    processes = {p['pid']: p for p in tree['processes']}
    assert len(processes) == WORKERS + 2 and tree['left_out'] == 0
    assert tree['processes'][0]['pid'] == t.pid
    assert all(p['parent'] == t.pid for p in tree['processes'][1:])
    assert [g['count'] for g in tree['groups']] == [1, 1, WORKERS - 1]
    assert stuck in [g['threads'][0]['pid'] for g in tree['groups'][:2]]
    thread, = processes[stuck]['threads']
    assert thread['frames'][0]['name'] == 'wait_for_answer'
    assert thread['waits_for'].startswith('read of %d (pipe:[' % pipe)
    assert [v['repr'] for v in thread['frames'][0]['locals']] == [str(pipe)]
    sleeper, = [p for p in processes.values() if p['runtime'] is None]
    assert sleeper['command'] == 'sleep 600' and sleeper['error']['cause'] == 'unsupported'


def test_a_tree_without_an_interpreter_is_no_error(cspy, target):
    t = target(['sh', '-c', 'echo ready; sleep 60; true'])
    t.line()
    r = run(cspy, 'dump', '-s', t.pid)
    assert r.code == 0 and not r.err, r
    assert '0 with an interpreter' in r.out
    assert 'No interpreter in process %d: sh -c ' % t.pid in r.out


def test_variables_of_merged_stacks_are_refused(cspy, target):
    r = run(cspy, 'dump', '-s', '-l', 1)
    assert r.code == 2 and '--locals with -s is for --json' in r.err, r
