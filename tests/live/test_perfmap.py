"""Recording what a JIT runs, by the map that it writes: Node, CPython, a JVM, and any other that lies at the same place."""
import json
import math
import os
import re
import shutil
import subprocess

import pytest

import cli
import runtimes

PROGRAM = 'fixtures/targets/node/functions.js'
# Rates are held back where pauses take long, as on a machine that is busy; here samples are wanted.
OPTIONS = ('-f', 'folded', '-o', '-', '--max-pause', '50%', '-r', '300')
PERF = '--perf-basic-prof'
# What is inlined has no frame of its own, and no map tells of it.
APART = '--no-turbo-inlining'
FLAGS = {
    'all': [PERF, APART],
    'only-functions': ['--perf-basic-prof-only-functions', APART],
    'interpreted': [PERF, '--no-opt', '--no-sparkplug'],
    'baseline': [PERF, '--no-opt', '--always-sparkplug'],
    'interpreted-frames': [PERF, '--interpreted-frames-native-stack', '--no-opt'],
}
MAGLEV = (22, 0)  # has its switches from here on


def flags_for(node, kind):
    flags = list(FLAGS[kind])
    if node.version >= MAGLEV:
        flags.append('--no-maglev' if '--no-opt' in flags else '--no-maglev-inlining')
    return flags


@pytest.fixture
def maps():
    """Removes perf maps when the test is over: a list of their paths."""
    paths = []
    yield paths
    for path in paths:
        if os.path.lexists(path):
            os.remove(path)


def start_node(target, maps, node, flags):
    t = target([*node.argv, *flags, node.place(PROGRAM)])
    maps.append('/tmp/perf-%d.map' % t.pid)
    return t, json.loads(t.line())


def record(cspy, pid, *options, seconds=2):
    r = cli.run(cspy, 'record', '-p', pid, '-d', seconds, *OPTIONS, *options)
    assert r.code == 0, r
    stacks = cli.folded(r.out)
    assert sum(stacks.values()) >= 20, r
    return stacks


def frame_of(stacks, name):
    """The labels that this function is shown by."""
    return {f for stack in stacks for f in stack if f.rpartition(' (')[0] == name}


def check_truth(stacks, truth):
    total = sum(stacks.values())
    by_leaf = {}
    for stack, n in stacks.items():
        by_leaf[stack[-1]] = by_leaf.get(stack[-1], 0) + n
    for entry in truth:
        name = entry['name'].replace(';', ':')
        assert frame_of(stacks, name) == {'%s (functions.js:%d)' % (name, entry['line'])}, (name, sorted(by_leaf))
        with_it = sum(n for stack, n in stacks.items() if stack[-1].startswith(name + ' ('))
        share, wanted = with_it / total, 1 / len(truth)
        # Five deviations of chance, and what the program itself, the collector and the loader take.
        assert abs(share - wanted) < 0.05 + 5 * math.sqrt(wanted * (1 - wanted) / total), (name, share, total, by_leaf)
        for stack in stacks:
            if stack[-1].startswith(name + ' (') and len(entry['stack']) > 1:
                assert [f.rpartition(' (')[0] for f in stack[-len(entry['stack']):]] == entry['stack'], stack


@pytest.mark.parametrize('kind', FLAGS)
def test_every_function_of_node_has_its_name_line_and_share(cspy, target, maps, node, kind):
    t, truth = start_node(target, maps, node, flags_for(node, kind))
    check_truth(record(cspy, t.pid), truth)
    assert cli.is_alive(t)
