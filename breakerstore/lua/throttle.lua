-- Does what a provider asked for: pause, lower the rate, suspend it.
--
-- ARGV   4 pause, 0 for none
--        5 1: lower the rate
--        6 what remains of it, in millionths  7 the least, in millionths
--        8 climb, in millionths a second      9 how often it may be lowered
--       10 suspension, 0 for none, -1 until somebody acts
--       11 class of the answer that suspended it
--       12 fingerprint of the caller's key
-- Reply  {1, circuit}, or {0} if there is none.
-- Atomic because waits are lower bounds: of two, the longer one must stay, and of
-- many 429s in one second, one alone may lower the rate.

local c = load()
if not c then return {0} end
local changed = false

local paused = now + tonumber(ARGV[4])
if tonumber(ARGV[4]) > 0 and paused > c.paused then
  c.paused, changed = paused, true
end
if ARGV[5] == '1' and now - c.lowered >= tonumber(ARGV[9]) then
  c.factor = math.max(math.floor(part(c, tonumber(ARGV[8])) * tonumber(ARGV[6]) / 1000000), tonumber(ARGV[7]))
  c.factor_at, c.lowered, changed = now, now, true
end
local suspension = tonumber(ARGV[10])
if suspension > 0 and now + suspension > c.parked then
  c.parked, c.parked_for, changed = now + suspension, ARGV[11], true
elseif suspension < 0 and not string.find(c.auth, ' ' .. ARGV[12] .. ' ', 1, true) then
  c.auth, changed = c.auth .. ' ' .. ARGV[12] .. ' ', true
end
if changed then save(c) end
return {1, text(c)}
