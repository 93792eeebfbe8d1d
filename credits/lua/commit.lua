-- Says what a call cost.
--
-- KEYS   the counters that the call was reserved in
-- ARGV   1 the reservation's ID  2 what the call cost
-- Reply  1
-- Atomic because the reservation and what is given back go together.

commit(ARGV[1], ARGV[2])
return 1
