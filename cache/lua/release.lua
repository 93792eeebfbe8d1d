-- Gives a lock back without an answer.
--
-- KEYS   1 the lock
-- ARGV   1 the caller's token
-- Reply  1 if it was the caller's
-- Atomic because the lock may have run out and be another's by now.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
