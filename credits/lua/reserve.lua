-- Sets the price of a call aside, if every cap has room for it.
--
-- KEYS   the counters of the capped periods, the day's before the month's
-- ARGV   1 the reservation's ID  2 the price
--        3 '1': the ledger was just read; a counter that is missing begins with it
--        then for each key: the cap, what the ledger knows to be spent, and for how
--        many milliseconds the key lives
--        then pairs: the ID of an earlier reservation and what that call cost
-- Reply  0   reserved
--        -1  a counter is missing, and the ledger was not just read
--        i   the last of the keys that has no room
-- Atomic because no other caller may take the room between the look and the
-- reservation.

local id, price, fresh = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
for i = 4 + 3 * #KEYS, #ARGV, 2 do commit(ARGV[i], ARGV[i + 1]) end

-- A client sends a script again when the connection breaks before the reply.
if redis.call('HEXISTS', KEYS[1], id) == 1 then return 0 end

if not fresh then
  for _, key in ipairs(KEYS) do
    if redis.call('HEXISTS', key, 'used') == 0 then return -1 end
  end
end

local full = 0
for i, key in ipairs(KEYS) do
  local cap, told = tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  local known = redis.call('HMGET', key, 'used', 'floor')
  local used, floor = tonumber(known[1] or -1), tonumber(known[2] or -1)
  if told > floor then
    redis.call('HSET', key, 'floor', str(told))
    floor = told
  end
  if not known[1] then redis.call('PEXPIRE', key, ARGV[3 * i + 3]) end
  if floor > used then
    redis.call('HSET', key, 'used', str(floor))
    used = floor
  end
  if used + price > cap then full = i end
end
if full > 0 then return full end

for _, key in ipairs(KEYS) do
  redis.call('HINCRBY', key, 'used', str(price))
  redis.call('HSET', key, id, str(price))
end
return 0
