-- The beginning of every script of this folder.
--
-- KEYS   1 circuit    hash: the fields below
--        2 failures   list: when the last failures were, oldest first
--        3 calls      hash: calls (c) and failures (f) of each part of the window
--        4 slots      list: when the last calls were allowed to start, oldest first
-- ARGV   1 channel on which changes are published
--        2 provider's name
--        3 the calling replica's name
--        4 … what the script says
--
-- All keys of a provider are in one hash slot, so a script may use them together
-- in a cluster. A script runs alone: what it reads cannot change before it writes.
--
-- Times are microseconds of this server's clock. What callers pass are durations
-- from now, never their own times. Numbers are written by str alone: Lua's own
-- conversion keeps 14 digits, and these have 16.

local T = redis.call('TIME')
local now = tonumber(T[1]) * 1000000 + tonumber(T[2])
local CIRCUIT, FAILURES, CALLS, SLOTS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local CHANNEL, PROVIDER, REPLICA = ARGV[1], ARGV[2], ARGV[3]
local CLOSED, HALF_OPEN, OPEN = 0, 1, 2 -- gobreaker's numbers
local DAY = 86400000000

-- ver       rises with every change     gen       rises with every change of state and every probe
-- epoch     when this hash was made     state     CLOSED, HALF_OPEN, OPEN
-- manual    1: opened by hand           retry     when an open circuit allows a probe
-- cooldown  the present one             lease     until when the probe has the circuit to itself
-- paused    the provider asked for it   parked    suspended until then
-- trips     times it opened             factor    millionths of the rate allowed at factor_at
-- lowered   when factor was last cut    since     when state changed
-- at        when this was written
local NUMBERS = {'ver', 'gen', 'epoch', 'state', 'manual', 'retry', 'cooldown', 'lease', 'paused', 'parked',
  'trips', 'factor', 'factor_at', 'lowered', 'since', 'at'}
-- parked_for  class of the answer       auth      fingerprints of refused keys, each between spaces
-- by          replica that changed state why      why it did
local TEXTS = {'parked_for', 'auth', 'by', 'why'}
local DEADLINES = {'retry', 'lease', 'paused', 'parked', 'factor_at', 'lowered', 'since'}

local FIELDS = {}
for _, f in ipairs(NUMBERS) do FIELDS[#FIELDS + 1] = f end
for _, f in ipairs(TEXTS) do FIELDS[#FIELDS + 1] = f end

local function str(n) return string.format('%.0f', n) end

-- text is the circuit as replicas read it, in replies and messages.
local function text(c)
  local t = {str(now)}
  for _, f in ipairs(NUMBERS) do t[#t + 1] = str(c[f]) end
  for _, f in ipairs(TEXTS) do t[#t + 1] = c[f] end
  return table.concat(t, '\t')
end

local function expire(key, micros) redis.call('PEXPIRE', key, str(math.ceil(micros / 1000))) end

-- save writes the circuit and tells all replicas.
local function save(c)
  c.ver = math.max(c.ver + 1, now)
  c.at = now
  local set = {}
  for i, f in ipairs(FIELDS) do
    set[#set + 1] = f
    if i <= #NUMBERS then set[#set + 1] = str(c[f]) else set[#set + 1] = c[f] end
  end
  redis.call('HSET', CIRCUIT, unpack(set))
  local keep = math.max(c.retry, c.paused, c.parked, now) - now + 7 * DAY
  if c.manual == 1 or c.auth ~= '' then keep = math.max(keep, 90 * DAY) end
  expire(CIRCUIT, keep)
  redis.call('PUBLISH', CHANNEL, PROVIDER .. '\t' .. text(c))
end

-- load reads the circuit; nil if there is none. When the clock was set back, or
-- another server with a slower one took over, deadlines move with it.
local function load()
  local v = redis.call('HMGET', CIRCUIT, unpack(FIELDS))
  if not v[1] then return nil end
  local c = {}
  for i, f in ipairs(FIELDS) do
    if i <= #NUMBERS then c[f] = tonumber(v[i]) or 0 else c[f] = v[i] or '' end
  end
  local back = c.at - now
  if back > 1000000 then
    for _, f in ipairs(DEADLINES) do
      if c[f] > 0 then c[f] = math.max(c[f] - back, 1) end
    end
    save(c)
  end
  return c
end

-- turn changes the state. What was begun before no longer has the generation and
-- so changes nothing.
local function turn(c, state, why)
  c.state, c.why, c.by, c.since, c.lease = state, why, REPLICA, now, 0
  c.gen = math.max(c.gen + 1, now)
end

local function forget() redis.call('DEL', FAILURES, CALLS) end

-- part is the part of the rate that is allowed now, in millionths; climb is what
-- it regains in a second.
local function part(c, climb)
  return math.min(1000000, c.factor + climb * math.max(0, now - c.factor_at) / 1000000)
end

-- count adds calls and failures to the window of the failure ratio, which has
-- twelve parts, and returns the sums.
local function count(window, calls, failures)
  local width = window / 12
  local current = math.floor(now / width)
  redis.call('HINCRBY', CALLS, str(current) .. 'c', str(calls))
  redis.call('HINCRBY', CALLS, str(current) .. 'f', str(failures))
  expire(CALLS, 2 * window)
  local all, failed = 0, 0
  local flat = redis.call('HGETALL', CALLS)
  for i = 1, #flat, 2 do
    local at = tonumber(string.sub(flat[i], 1, -2))
    if at <= current - 12 or at > current then
      redis.call('HDEL', CALLS, flat[i])
    elseif string.sub(flat[i], -1) == 'c' then
      all = all + tonumber(flat[i + 1])
    else
      failed = failed + tonumber(flat[i + 1])
    end
  end
  return all, failed
end

-- spend records n calls as made now. Slots are in the order of their times.
local function spend(n, keep, longest)
  if n <= 0 then return end
  local at = math.max(now, tonumber(redis.call('LINDEX', SLOTS, -1) or 0))
  for _ = 1, math.min(n, keep) do redis.call('RPUSH', SLOTS, str(at)) end
  redis.call('LTRIM', SLOTS, -keep, -1)
  expire(SLOTS, longest)
end
