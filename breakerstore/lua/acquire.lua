-- Reserves a slot on all limits at once, and the probe when it is due.
--
-- ARGV   4 fingerprint of the caller's key
--        5 max wait: the longest that the caller waits
--        6 horizon: a slot further away than this is the trace of a clock set back
--        7 lease of a probe, from its slot on
--        8 climb of the rate, in millionths a second
--        9 spacing of the slots, 0 for none
--       10 how long the longest window is
--       11 how many slots to keep
--       12 rate, 13 window, 14 rate, 15 window … of each limit
-- Reply  {0, wait, probe, circuit}  go, after waiting; probe is 1 if this call is it
--        {1}                        there is no circuit: restore it
--        {2, wait, 0, circuit}      open
--        {3, wait, 0, circuit}      another call is the probe
--        {4, wait, 0, circuit}      paused for longer than max wait
--        {5, wait, 0, circuit}      suspended; wait is -1 when somebody has to act
--        {6, wait, 0, circuit}      the next slot is further away than max wait
-- Atomic because two callers must not be given one slot or one probe, and none
-- may be given a slot on one limit that another limit denies.

local c = load()
if not c then return {1} end
if c.manual == 1 then return {2, -1, 0, text(c)} end
if string.find(c.auth, ' ' .. ARGV[4] .. ' ', 1, true) then return {5, -1, 0, text(c)} end
if c.parked > now then return {5, c.parked - now, 0, text(c)} end
if c.state == OPEN and c.retry > now then return {2, c.retry - now, 0, text(c)} end
if c.state == HALF_OPEN and c.lease > now then return {3, c.lease - now, 0, text(c)} end

local max_wait = tonumber(ARGV[5])
if c.paused - now > max_wait then return {4, c.paused - now, 0, text(c)} end
local slot = math.max(now, c.paused)

if #ARGV >= 12 then
  local last = tonumber(redis.call('LINDEX', SLOTS, -1) or 0)
  local back = last - now
  if back > tonumber(ARGV[6]) and back > c.paused - now + tonumber(ARGV[6]) then
    local old = redis.call('LRANGE', SLOTS, 0, -1)
    redis.call('DEL', SLOTS)
    for _, at in ipairs(old) do redis.call('RPUSH', SLOTS, str(tonumber(at) - back)) end
    last = now
  end
  local f = part(c, tonumber(ARGV[8])) / 1000000
  if last > 0 then slot = math.max(slot, last + math.ceil(tonumber(ARGV[9]) / f)) end
  for i = 12, #ARGV, 2 do
    local rate = math.max(1, math.floor(tonumber(ARGV[i]) * f))
    local at = redis.call('LINDEX', SLOTS, str(-rate))
    if at then slot = math.max(slot, tonumber(at) + tonumber(ARGV[i + 1])) end
  end
  if slot - now > max_wait then return {6, slot - now, 0, text(c)} end
  redis.call('RPUSH', SLOTS, str(slot))
  redis.call('LTRIM', SLOTS, str(-tonumber(ARGV[11])), -1)
  expire(SLOTS, slot - now + tonumber(ARGV[10]))
end

if c.state == CLOSED then return {0, slot - now, 0, text(c)} end
if c.state == OPEN then
  turn(c, HALF_OPEN, 'cooldown over')
else
  c.gen = math.max(c.gen + 1, now) -- the lost probe's result must change nothing
end
c.lease = slot + tonumber(ARGV[7])
save(c)
return {0, slot - now, 1, text(c)}
