-- Reads an answer, or makes the caller the one who gets it.
--
-- KEYS   1 the answer  2 its lock
-- ARGV   1 the caller's token  2 the lease in milliseconds
--        3 '1': take the lock although there is an answer, because it will not do
-- Reply  {the answer or nil, 1 if the caller has the lock}
-- Atomic because between the look and the lock nobody may keep an answer: the
-- caller would make a call that another has just made.

local kept = redis.call('GET', KEYS[1])
if kept and ARGV[3] ~= '1' then return {kept, 0} end
-- The lock may be the caller's already: a client sends a script again when the
-- connection breaks before the reply.
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[2]) == ARGV[1] then
  return {kept, 1}
end
return {kept, 0}
