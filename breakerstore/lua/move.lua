-- Moves the slot of a caller that came late to now, if all limits still hold.
-- Otherwise the slot is given up.
--
-- ARGV   4 the slot's time
--        5 rate, 6 window, 7 rate, 8 window … of each limit that could be broken
-- Reply  {the new time}, or {0}: take another slot
-- Atomic because between the check and the move nobody may reserve a slot.

local ttl = redis.call('PTTL', SLOTS) -- a list that becomes empty loses it
if redis.call('LREM', SLOTS, -1, ARGV[4]) == 0 then return {0} end

-- Slots stay in the order of their times: after are those that come later. Of equal
-- ones LINSERT takes the first, which is the right one only for BEFORE.
local after, following = 0, nil
local last = redis.call('LINDEX', SLOTS, -1)
while last and tonumber(last) > now do
  after, following = after + 1, last
  last = redis.call('LINDEX', SLOTS, str(-1 - after))
end
if following then
  redis.call('LINSERT', SLOTS, 'BEFORE', following, str(now))
else
  redis.call('RPUSH', SLOTS, str(now))
end
if ttl > 0 then redis.call('PEXPIRE', SLOTS, str(ttl)) end

for i = 5, #ARGV, 2 do
  local rate, window = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  for k = 0, math.min(after, rate) do -- of rate + 1 slots in a row, k come after this one
    local newest = redis.call('LINDEX', SLOTS, str(-1 - after + k))
    local oldest = redis.call('LINDEX', SLOTS, str(-1 - after + k - rate))
    if oldest and tonumber(newest) - tonumber(oldest) < window then
      redis.call('LREM', SLOTS, -1, str(now))
      return {0}
    end
  end
end
return {now}
