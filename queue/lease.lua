-- Takes or renews the reconciler's lease.
--
-- KEYS[1]  the lease     string, the token of its holder
-- ARGV[1]  the caller's token
-- ARGV[2]  how long it holds, in milliseconds
--
-- Reply: 1 if the caller holds the lease now, else 0.
--
-- Atomic, because between the look and the renewal the lease may expire and
-- somebody else take it.
local holder = redis.call("GET", KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1
