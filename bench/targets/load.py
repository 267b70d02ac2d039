"""Work with a known speed: each line of output says how many units of it were done a second of wall time, and when.

usage: load.py stable|churn|threads SECONDS

stable    20 frames deep, in one loop that calls nothing: the same stack at nearly every look
churn     up to 22 frames deep, and nothing but calls that last some 100 ns: another stack at every look
threads   four threads that churn, and share the interpreter's lock

A line is `TIME UNITS`: seconds since the epoch, units a second of all threads since the line before.
"""
import sys
import threading
import time
clock = getattr(time, 'perf_counter', time.time)
LINE_SECONDS = 0.25


def stable():
    x = 0
    for i in range(20000):
        x ^= i
    return x


def tree(depth):
    if depth == 0:
        return 1
    return tree(depth - 1) + tree(depth - 1)


def churn():
    return tree(13)


def pad(n, f, *args):
    if n == 0:
        return f(*args)
    return pad(n - 1, f, *args)


def work(unit, counts, mine, end):
    while clock() < end:
        unit()
        counts[mine] += 1


def work_and_tell(unit, counts, end):
    last, done = clock(), sum(counts)
    while last < end:
        unit()
        counts[0] += 1
        now = clock()
        if now - last >= LINE_SECONDS:
            total = sum(counts)
            sys.stdout.write('%.3f %.2f\n' % (time.time(), (total - done) / (now - last)))
            sys.stdout.flush()
            last, done = now, total


def main(mode, seconds):
    end = clock() + seconds
    counts = [0] * (4 if mode == 'threads' else 1)
    for mine in range(1, len(counts)):
        t = threading.Thread(target=pad, args=(4, work, churn, counts, mine, end))
        t.daemon = True
        t.start()
    if mode == 'stable':
        pad(15, work_and_tell, stable, counts, end)
    else:
        pad(4, work_and_tell, churn, counts, end)


if __name__ == '__main__':
    sys.stdout.write('ready\n')
    sys.stdout.flush()
    main(sys.argv[1], float(sys.argv[2]))
