-- Moves the tasks of a queue whose retry is due to the head of those that wait.
--
-- KEYS[1]  asynq:{QUEUE}:retry     zset, task ID by the Unix second at which it is due
-- KEYS[2]  asynq:{QUEUE}:pending   list, taken from the right
-- ARGV[1]  prefix of the keys of the task hashes, asynq:{QUEUE}:t:
-- ARGV[2]  most tasks to move at once
--
-- Reply: how many were moved.
--
-- Atomic, because a task must at no time be in both lists or in neither. It does
-- what asynq's own forwarder does (asynq v0.26.0, internal/rdb, forward), but for
-- the end of the list; whichever comes first, the other finds nothing to move.
-- The clock is Redis's.
local now = redis.call("TIME")
local due = redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", now[1], "LIMIT", 0, ARGV[2])
-- The earliest is pushed last and so taken first.
for i = #due, 1, -1 do
  local task = ARGV[1] .. due[i]
  redis.call("ZREM", KEYS[1], due[i])
  redis.call("RPUSH", KEYS[2], due[i])
  redis.call("HSET", task, "state", "pending", "pending_since", now[1] .. string.format("%06d", now[2]) .. "000")
end
return #due
