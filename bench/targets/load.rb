# Work with a known speed, as load.py does it: each line of output says how many units of it were done a second of wall time, and when.
#
# usage: load.rb stable|churn|threads SECONDS
#
# stable    20 frames deep, in one loop that calls nothing: the same stack at nearly every look
# churn     up to 22 frames deep, and nothing but calls that last some 100 ns: another stack at every look
# threads   four threads that churn, each from a method of its own (thread_1 ...), and share the interpreter's lock
#
# A line is `TIME UNITS`: seconds since the epoch, units a second of all threads since the line before.
LINE_SECONDS = 0.25

def clock
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def stable
  x = i = 0
  while i < 20000
    x ^= i
    i += 1
  end
end

def tree(depth)
  return 1 if depth == 0

  tree(depth - 1) + tree(depth - 1)
end

def churn
  tree(13)
end

def pad(n, unit, mine)
  n == 0 ? work(unit, mine) : pad(n - 1, unit, mine)
end

# The first one tells the speed of all.
def work(unit, mine)
  last, done = clock, COUNTS.sum
  while last < FINISH
    unit == :stable ? stable : churn
    COUNTS[mine] += 1
    now = clock
    next if mine > 0 || now - last < LINE_SECONDS

    total = COUNTS.sum
    puts format('%.3f %.2f', Process.clock_gettime(Process::CLOCK_REALTIME), (total - done) / (now - last))
    last, done = now, total
  end
  exit!
end

def thread_1
  pad(4, :churn, 0)
end

def thread_2
  pad(4, :churn, 1)
end

def thread_3
  pad(4, :churn, 2)
end

def thread_4
  pad(4, :churn, 3)
end

COUNTS = [0] * 4
FINISH = clock + ARGV[1].to_f
$stdout.sync = true
puts 'ready'
case ARGV[0]
when 'threads'
  [2, 3, 4].each { |n| Thread.new { send("thread_#{n}") } }
  thread_1
when 'stable' then pad(16, :stable, 0)
else pad(4, :churn, 0)
end
