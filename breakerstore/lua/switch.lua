-- Opens or closes a circuit by hand. Closing also ends pause, suspension
-- and a lowered rate.
--
-- ARGV   4 open or close
-- Reply  {1, circuit}; a circuit that does not exist is made.
-- Atomic because a probe that ends meanwhile must not undo it.

local c = load()
if not c then
  c = {}
  for i, f in ipairs(FIELDS) do
    if i <= #NUMBERS then c[f] = 0 else c[f] = '' end
  end
  c.epoch = now
end
if ARGV[4] == 'open' then
  if c.state ~= OPEN then c.trips = c.trips + 1 end
  turn(c, OPEN, 'by hand')
  c.manual, c.retry = 1, 0
else
  turn(c, CLOSED, 'by hand')
  c.manual, c.retry, c.cooldown, c.paused, c.parked, c.parked_for, c.auth = 0, 0, 0, 0, 0, '', ''
  c.factor, c.factor_at, c.lowered = 1000000, 0, 0
  forget()
end
if c.factor == 0 then c.factor = 1000000 end
save(c)
return {1, text(c)}
