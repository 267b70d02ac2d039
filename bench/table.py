"""Print what was measured: for a terminal while it comes, and as Markdown for docs/PERFORMANCE.md."""
import os
import re

# key, heading, digits after the point
COLUMNS = [
    ('per_second', 'samples/s', 0),
    ('cpu_us', 'CPU us', 1),
    ('start_ms', 'start ms', 0),
    ('slower', 'slower %', 1),
    ('paused', 'paused %', 2),
    ('failed', 'failed %', 2),
    ('torn', 'torn %', 2),
    ('cut', 'cut %', 2),
    ('impossible', 'impossible %', 3),
    ('wrong_line', 'line %', 3),
    ('threads', 'threads seen', 0),
    ('memory_mb', 'MB', 1),
]
TOOL = 24
# What cspy is compared to, and which of its modes with which of theirs.
PAIRS = [('cspy', 'py-spy'), ('cspy', 'austin'), ('cspy-blocking', 'py-spy'), ('cspy-nonblocking', 'py-spy-nonblocking'),
         ('cspy-nonblocking', 'austin'), ('cspy', 'rbspy'), ('cspy-blocking', 'rbspy'), ('cspy-nonblocking', 'rbspy-nonblocking')]


def cell(row, key, digits):
    return '%.*f' % (digits, row[key] + 0.0) if row.get(key) is not None else '-'


def text_head():
    return '%-7s %5s  %-*s' % ('mode', 'rate', TOOL, 'tool') + ''.join(' %*s' % (max(8, len(h)), h) for _, h, _ in COLUMNS)


def text_row(row):
    start = '%-7s %5s  %-*s' % (row['mode'], row['rate'], TOOL, row['tool'])
    if 'error' in row:
        return start + ' failed: ' + row['error']
    return start + ''.join(' %*s' % (max(8, len(h)), cell(row, k, d)) for k, h, d in COLUMNS)


def markdown(rows, machine):
    """Without columns that nobody filled in a mode."""
    text = ['Machine: %s.' % machine, '']
    for python in dict.fromkeys(r['python'] for r in rows):
        for mode in dict.fromkeys(r['mode'] for r in rows):
            mine = [r for r in rows if r['mode'] == mode and r['python'] == python]
            columns = [c for c in COLUMNS if any(r.get(c[0]) is not None for r in mine)]
            text += ['**%s**, %s' % (mode, python), '', '| rate | tool | ' + ' | '.join(h for _, h, _ in columns) + ' |',
                     '|---:|---|' + '---:|' * len(columns)]
            for r in mine:
                cells = ['failed: ' + r['error']] if 'error' in r else [cell(r, k, d) for k, _, d in columns]
                text.append('| %s | %s | %s |' % (r['rate'], r['tool'], ' | '.join(cells)))
            text.append('')
    return '\n'.join(text + ['```', ratios(rows), '```'])


def times(ours, theirs, key):
    return '%.2f' % (ours[key] / theirs[key]) if ours.get(key) and theirs.get(key) else '-'


def ratios(rows):
    found = {(r['python'], r['mode'], r['rate'], r['tool']): r for r in rows if 'error' not in r}
    head = '%-7s %5s  %-40s %9s %9s %9s %16s %16s' % (
        'mode', 'rate', 'of', 'samples/s', 'CPU', 'memory', 'slower %', 'impossible %')
    text = ['Ratios in this run (samples/s: more is better; CPU a sample and memory: less is better)', head]
    for (python, mode, rate, tool), ours in found.items():
        for mine, other in PAIRS:
            theirs = found.get((python, mode, rate, other))
            if tool != mine or not theirs:
                continue
            pair = ['%s : %s' % (cell(ours, k, d), cell(theirs, k, d)) for k, d in (('slower', 1), ('impossible', 3))]
            text.append('%-7s %5s  %-40s %9s %9s %9s %16s %16s' % (
                mode, rate, '%s / %s' % (mine, other), times(ours, theirs, 'per_second'), times(ours, theirs, 'cpu_us'),
                times(ours, theirs, 'memory_mb'), *pair))
    return '\n'.join(text) if len(text) > 2 else 'No ratios: cspy and a peer are needed in one run.'


def machine():
    """CPU, kernel and cores; nothing that names the machine."""
    with open('/proc/cpuinfo') as f:
        m = re.search(r'^(?:model name|CPU part)\s*:\s*(.+)$', f.read(), re.M)
    kernel = re.match(r'[\d.]+', os.uname().release)[0]
    cpus = len(os.sched_getaffinity(0))
    pinned = 'the target on the last, the profilers on the first' if cpus > 1 else 'shared by target and profilers'
    return '%s, %s, Linux %s, %d CPU%s (%s), load %.1f at the start' % (
        m[1].strip() if m else 'unknown CPU', os.uname().machine, kernel, cpus, 's' * (cpus > 1), pinned, os.getloadavg()[0])
