-- Records calls that were made without this server, as made now.
--
-- ARGV   4 calls  5 how many slots to keep  6 how long the longest window is
--        7 calls that fill the shortest window, 0 for none
--        8 for how long the replica was away, without the time for which it had
--          slots in advance
-- Reply  {1}
-- Atomic because slots are kept in the order of their times.
--
-- When the whole fleet was away, others have calls to record that are not known
-- yet. Then the shortest window counts as full, and nobody starts a call before
-- they had the time to come back. That others went on is seen by slots taken
-- meanwhile; the last moments do not count, since a server that was halted first
-- does what it was sent before.

local n = tonumber(ARGV[4])
local burst, away = tonumber(ARGV[7]), tonumber(ARGV[8])
if burst > 0 then
  local i, at = -1, redis.call('LINDEX', SLOTS, -1)
  while at and tonumber(at) > now - 300000 do
    i = i - 1
    at = redis.call('LINDEX', SLOTS, str(i))
  end
  if not at or tonumber(at) < now - away then n = math.max(n, burst) end
end
spend(n, tonumber(ARGV[5]), tonumber(ARGV[6]))
return {1}
