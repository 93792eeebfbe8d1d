-- Reads a circuit and changes nothing, but for deadlines when the clock was set back.
--
-- ARGV   4 window of the failures
-- Reply  {1, failures in the window, circuit}, or {0} if there is none.
-- Atomic because the circuit and its failures belong together.

local c = load()
if not c then return {0} end
local failures = 0
for _, at in ipairs(redis.call('LRANGE', FAILURES, 0, -1)) do
  if now - tonumber(at) < tonumber(ARGV[4]) then failures = failures + 1 end
end
return {1, failures, text(c)}
