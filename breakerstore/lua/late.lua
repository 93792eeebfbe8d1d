-- Moves a slot to now, because its caller came late, if all limits still hold.
-- Otherwise the slot is given up.
--
-- ARGV   4 the slot's time
--        5 rate, 6 window, 7 rate, 8 window … of each limit that could be broken
-- Reply  {1} go, {0} take another slot
-- Atomic because between the check and the move nobody may reserve a slot.

if redis.call('LREM', SLOTS, -1, ARGV[4]) == 0 then return {0} end

-- Slots stay in the order of their times: after are those that come later.
local after = 0
local pivot = redis.call('LINDEX', SLOTS, -1)
while pivot and tonumber(pivot) > now do
  after = after + 1
  pivot = redis.call('LINDEX', SLOTS, str(-1 - after))
end
if pivot then
  redis.call('LINSERT', SLOTS, 'AFTER', pivot, str(now))
else
  redis.call('LPUSH', SLOTS, str(now))
end

for i = 5, #ARGV, 2 do
  local rate, window = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  for k = 0, math.min(after, rate) do -- of rate + 1 slots in a row, k come after this one
    local last = redis.call('LINDEX', SLOTS, str(-1 - after + k))
    local first = redis.call('LINDEX', SLOTS, str(-1 - after + k - rate))
    if first and tonumber(last) - tonumber(first) < window then
      redis.call('LREM', SLOTS, -1, str(now))
      return {0}
    end
  end
end
return {1}
