-- Counts a failure, or ends a probe.
--
-- ARGV   4 generation in which the call began
--        5 outcome: failure, success or neutral
--        6 probe: 1 if the call was it
--        7 failures that open the circuit   8 window   9 the window for people
--       10 cooldown  11 its cap, 0 for none
--       12 ratio of failures in millionths, 0 for none  13 calls that it needs
--       14 calls that the replica has not reported yet, this one included
-- Reply  {1 if the state changed, circuit}, or {0} if there is none.
-- Atomic because of concurrent failures none may be lost, and one alone may be
-- the one that opens the circuit.

local c = load()
if not c then return {0} end
local outcome, probe = ARGV[5], ARGV[6] == '1'
if c.gen ~= tonumber(ARGV[4]) or c.manual == 1 then return {0, text(c)} end

local function open(cooldown, why)
  turn(c, OPEN, why)
  c.cooldown, c.retry, c.trips = cooldown, now + cooldown, c.trips + 1
  forget()
  save(c)
  return {1, text(c)}
end

if c.state == HALF_OPEN and probe then
  if outcome == 'failure' then
    local cooldown, cap = tonumber(ARGV[10]), tonumber(ARGV[11])
    if cap > cooldown then cooldown = math.min(2 * math.max(c.cooldown, cooldown), cap) end
    return open(cooldown, 'probe failed')
  end
  if outcome == 'success' then
    turn(c, CLOSED, 'probe succeeded')
    c.cooldown, c.retry = 0, 0
    forget()
    save(c)
    return {1, text(c)}
  end
  c.lease = 0
  save(c)
  return {0, text(c)}
end
if c.state ~= CLOSED or outcome ~= 'failure' then return {0, text(c)} end

local most, window = tonumber(ARGV[7]), tonumber(ARGV[8])
redis.call('RPUSH', FAILURES, str(now))
redis.call('LTRIM', FAILURES, str(-most), -1)
expire(FAILURES, window)

local all, failed = 0, 0
if tonumber(ARGV[12]) > 0 then all, failed = count(window, tonumber(ARGV[14]), 1) end

if redis.call('LLEN', FAILURES) >= most and now - tonumber(redis.call('LINDEX', FAILURES, 0)) < window then
  return open(tonumber(ARGV[10]), ARGV[7] .. ' failures in ' .. ARGV[9])
end
if all > 0 and all >= tonumber(ARGV[13]) and failed * 1000000 >= tonumber(ARGV[12]) * all then
  return open(tonumber(ARGV[10]), failed .. ' of ' .. all .. ' calls failed in ' .. ARGV[9])
end
return {0, text(c)}
