-- Keeps an answer and gives the lock back, unless the person was forgotten.
--
-- KEYS   1 the answer  2 its lock  3 the person's answers  4 the person is gone
-- ARGV   1 the caller's token  2 the answer  3 its age in milliseconds
-- Reply  1 if it was kept
-- Atomic because who finds no lock must find the answer, and because a person who
-- is being forgotten must not be kept in between.

if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('SADD', KEYS[3], KEYS[1])
if redis.call('PTTL', KEYS[3]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[3], ARGV[3]) end
return 1
