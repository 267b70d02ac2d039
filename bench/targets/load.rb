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

def pad(n, unit)
  n == 0 ? work(unit) : pad(n - 1, unit)
end

def work(unit)
  unit == :stable ? stable : churn while COUNTS[Thread.current[:mine]] += 1
end

def thread_1
  pad(4, :churn)
end

def thread_2
  pad(4, :churn)
end

def thread_3
  pad(4, :churn)
end

def thread_4
  pad(4, :churn)
end

def tell(seconds)
  start = last = clock
  done = COUNTS.sum
  while last - start < seconds
    sleep LINE_SECONDS
    now, total = clock, COUNTS.sum
    puts format('%.3f %.2f', Process.clock_gettime(Process::CLOCK_REALTIME), (total - done) / (now - last))
    last, done = now, total
  end
  exit!
end

mode, seconds = ARGV[0], ARGV[1].to_f
COUNTS = [0] * 4
$stdout.sync = true
puts 'ready'
Thread.new { tell(seconds) }
if mode == 'threads'
  %i[thread_1 thread_2 thread_3 thread_4].each_with_index do |name, i|
    Thread.new do
      Thread.current[:mine] = i
      send(name)
    end
  end
  sleep
else
  Thread.current[:mine] = 0
  pad(mode == 'stable' ? 16 : 4, mode.to_sym)
end
