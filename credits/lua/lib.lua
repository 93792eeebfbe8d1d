-- The beginning of every script of this folder.
--
-- KEYS   the counters of a provider's periods, hashes:
--        used   what is spent or reserved, as far as this Redis knows
--        floor  the most that the ledger was known to have
--        other  the price of a reservation that nobody committed, by its ID
--
-- All keys of a provider are in one hash slot, so a script may use them together
-- in a cluster. A script runs alone: what it reads cannot change before it writes.
--
-- Amounts are micro-credits. They are written by str alone: Lua's own conversion
-- keeps 14 digits, and these may have 16.

local function str(n) return string.format('%.0f', n) end

-- commit gives back what a reservation did not cost of its price. It counts where
-- the counter has the reservation, once: not where Redis lost it, nor when it comes
-- again.
local function commit(id, spent)
  for _, key in ipairs(KEYS) do
    local price = redis.call('HGET', key, id)
    if price then
      redis.call('HDEL', key, id)
      redis.call('HINCRBY', key, 'used', str(tonumber(spent) - tonumber(price)))
    end
  end
end
