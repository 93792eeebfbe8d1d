-- Reports good calls. Only the failure ratio needs them.
--
-- ARGV   4 window   5 calls
-- Reply  {1}
-- Atomic because the part of the window that is current depends on the clock.

count(tonumber(ARGV[4]), tonumber(ARGV[5]), 0)
return {1}
