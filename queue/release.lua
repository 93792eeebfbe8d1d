-- Takes a task away from a worker that does not renew its lease any more.
--
-- KEYS[1]  asynq:{QUEUE}:active     list
-- KEYS[2]  asynq:{QUEUE}:lease      zset, task ID by the Unix second at which the lease ends
-- KEYS[3]  asynq:{QUEUE}:pending    list, taken from the right
-- KEYS[4]  asynq:{QUEUE}:archived   zset, task ID by the Unix second of archiving
-- KEYS[5]  asynq:{QUEUE}:t:ID       hash, the task
-- ARGV[1]  the task's ID
-- ARGV[2]  the end of the lease as the caller saw it, "" if there was none
-- ARGV[3]  what becomes of the task: pending (at the head of the line), archived, or done
--
-- Reply: 1, or 0 when the lease was renewed meanwhile or the task is not active.
--
-- Atomic, because the worker may renew its lease at any moment and must then keep
-- the task. The layout is asynq v0.26.0's (internal/rdb: dequeue, requeue, archive, done).
local ends = redis.call("ZSCORE", KEYS[2], ARGV[1]) or ""
if ends ~= ARGV[2] or redis.call("LREM", KEYS[1], 1, ARGV[1]) == 0 then
  return 0
end
redis.call("ZREM", KEYS[2], ARGV[1])
local now = redis.call("TIME")
if ARGV[3] == "pending" then
  redis.call("RPUSH", KEYS[3], ARGV[1])
  redis.call("HSET", KEYS[5], "state", "pending", "pending_since", now[1] .. string.format("%06d", now[2]) .. "000")
elseif ARGV[3] == "archived" then
  redis.call("ZADD", KEYS[4], now[1], ARGV[1])
  redis.call("HSET", KEYS[5], "state", "archived")
else
  redis.call("DEL", KEYS[5])
end
return 1
