-- Makes a circuit that is missing, or older than what the caller has seen of it:
-- the server is new, was flushed, or took over without the last writes. What the
-- caller knows is put back; whoever knows more does it again.
--
-- ARGV   4 ver  5 gen  6 state  7 manual  8 retry  9 cooldown  10 paused  11 suspended
--       12 trips  13 factor  14 suspended_for  15 auth  16 by  17 why  18 since (ago)
--       19 calls to record as made now, so that no limit is exceeded
--       20 how many slots to keep  21 how long the longest window is
-- Reply  {1, circuit}
-- Atomic because of many replicas that come back at once, one alone may do it.

local c = load()
local ver = tonumber(ARGV[4])
if c and c.ver >= ver then return {1, text(c)} end

local function n(i) return tonumber(ARGV[i]) end
local function deadline(i) if n(i) > 0 then return now + n(i) end return 0 end
c = {
  ver = ver, gen = math.max(n(5) + 1, now), epoch = now, state = n(6), manual = n(7),
  retry = deadline(8), cooldown = n(9), lease = 0, paused = deadline(10), parked = deadline(11),
  trips = n(12), factor = n(13), factor_at = now, lowered = 0,
  parked_for = ARGV[14], auth = ARGV[15], by = ARGV[16], why = ARGV[17], since = now - n(18), at = now,
}
if c.state == HALF_OPEN then c.state, c.retry = OPEN, now end -- its probe is not known here
forget()
spend(n(19), n(20), n(21))
save(c)
return {1, text(c)}
