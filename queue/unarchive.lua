-- Removes tasks from a queue's archive.
--
-- KEYS[1]  asynq:{QUEUE}:archived   zset
-- ARGV[1]  prefix of the keys of the task hashes, asynq:{QUEUE}:t:
-- ARGV[2…] task IDs
--
-- Reply: how many were removed.
--
-- Atomic, because a task that an operator runs at this moment must keep its hash:
-- only what was still in the archive loses it.
local removed = 0
for i = 2, #ARGV do
  if redis.call("ZREM", KEYS[1], ARGV[i]) == 1 then
    redis.call("DEL", ARGV[1] .. ARGV[i])
    removed = removed + 1
  end
end
return removed
