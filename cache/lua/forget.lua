-- Removes a person's answers and keeps those under way from being kept.
--
-- KEYS   1 the person's answers  2 the person is gone
-- ARGV   1 the longest lease in milliseconds
-- Reply  how many answers there were
-- Atomic because of answers that come in between. The answers' keys are not
-- declared; they have the hash tag of those that are.

local n = 0
for _, key in ipairs(redis.call('SMEMBERS', KEYS[1])) do n = n + redis.call('DEL', key) end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
return n
