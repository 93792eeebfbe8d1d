-- Says that a replica is there, and counts them.
--
-- KEYS   1 replicas  sorted set: when each was last seen, in microseconds
-- ARGV   1 the replica's name  2 for how long one counts that gives no sign of life
-- Reply  the number of replicas
-- Atomic because it counts by the server's clock; it has no part in lib.lua.

local T = redis.call('TIME')
local now = tonumber(T[1]) * 1000000 + tonumber(T[2])
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(tonumber(ARGV[2]) / 1000)))
return redis.call('ZCARD', KEYS[1])
