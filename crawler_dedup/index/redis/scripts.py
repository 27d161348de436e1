"""The scripts that a server runs, each at once: nothing happens between what one reads and what it writes.

All keys of an index have one hash tag, so that they stand in one slot of a cluster. ``KEYS[1]`` is the hash that says what
the index is. Keys of records that a script makes cannot be declared: it gives them their numbers.
"""

from __future__ import annotations

BEGIN = """
-- Makes an index where there is none. ARGV: epoch, header. Returns epoch and header of the index that there is then.
if redis.call('HEXISTS', KEYS[1], 'epoch') == 0 then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'header', ARGV[2], 'runs', '0', 'removed', '0', 'writes', '0',
    'last', '0', 'count', '0')
end
return redis.call('HMGET', KEYS[1], 'epoch', 'header')
"""

EMPTY = """
-- Empties an index, or makes it. ARGV: epoch of the new one, its header. What is left of the old one cannot be reached.
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'header', ARGV[2], 'runs', '0', 'removed', '0', 'writes', '0',
  'last', '0', 'count', '0')
return redis.call('HMGET', KEYS[1], 'epoch', 'header')
"""

REMOVE = """
-- Removes keys, unless the index was emptied meanwhile. KEYS: and those to remove. ARGV: epoch.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'gone' end
redis.call('UNLINK', unpack(KEYS, 2))
return 'removed'
"""

_RUNS = """
local function runs()
  return {redis.call('HGET', KEYS[1], 'runs'), redis.call('HGETALL', prefix .. 'u'), redis.call('SMEMBERS', prefix .. 'd')}
end
"""

COMMIT = (
    """
-- Changes the index if what was read is still so. KEYS: and the cells that were read. ARGV: epoch, prefix of all keys,
-- version of the runs, number of removals, time of the server in milliseconds after which the client waits for no answer,
-- number of counts that were read; of each cell where its end begins, and the end; of each count the field and the value;
-- then commands, each behind the number of its arguments. Returns {'gone'}; {'late'};
-- {'stale', runs or 0, removed cells or 0 or 'all', number of removals, numbers and contents of cells};
-- or {'done', number of removals, version of the runs, numbers of the new records}.
local prefix = ARGV[2]
"""
    + _RUNS
    + """
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'runs', 'removed')
if meta[1] ~= ARGV[1] then return {'gone'} end
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[5]) then return {'late'} end
local at, stale = 7, {}
for cell = 2, #KEYS do
  local offset, known = ARGV[at], ARGV[at + 1]
  at = at + 2
  local now = redis.call('GETRANGE', KEYS[cell], offset, -1)
  if now ~= known then
    if offset ~= '0' and string.sub(now, 1, #known) ~= known then
      offset, now = '0', redis.call('GET', KEYS[cell]) or ''
    end
    stale[#stale + 1] = cell - 2
    stale[#stale + 1] = offset
    stale[#stale + 1] = now
  end
end
local outdated = false
for _ = 1, tonumber(ARGV[6]) do
  outdated = outdated or (redis.call('HGET', prefix .. 'k', ARGV[at]) or '0') ~= ARGV[at + 1]
  at = at + 2
end
if #stale > 0 or outdated or meta[2] ~= ARGV[3] or meta[3] ~= ARGV[4] then
  local removed, missed = 0, tonumber(meta[3]) - tonumber(ARGV[4])
  if missed ~= 0 then
    removed = 'all'
    if missed > 0 and missed <= redis.call('LLEN', prefix .. 'x') then
      removed = redis.call('LRANGE', prefix .. 'x', -missed, -1)
    end
  end
  return {'stale', meta[2] ~= ARGV[3] and runs() or 0, removed, meta[3], stale}
end
local numbers, removals = {}, 0
local function encoded(number)
  local bytes = {}
  for i = 1, 5 do
    bytes[i] = string.char(number % 256)
    number = math.floor(number / 256)
  end
  return table.concat(bytes)
end
while at <= #ARGV do
  local length = tonumber(ARGV[at])
  local command = ARGV[at + 1]
  if command == 'new' then
    local number = encoded(redis.call('HINCRBY', KEYS[1], 'last', 1))
    numbers[#numbers + 1] = number
    redis.call('SET', prefix .. 'r' .. number, ARGV[at + 2])
  elseif command == 'place' then
    redis.call('APPEND', ARGV[at + 2], numbers[tonumber(ARGV[at + 3])] .. ARGV[at + 4])
  elseif command == 'take' then
    local content, entry = redis.call('GET', ARGV[at + 2]) or '', ARGV[at + 3]
    local from = string.find(content, entry, 1, true)
    while from and from % 8 ~= 1 do from = string.find(content, entry, from + 1, true) end
    if from then
      local last = string.sub(content, -8)
      if from + 8 <= #content then
        content = string.sub(content, 1, from - 1) .. last .. string.sub(content, from + 8)
      end
      content = string.sub(content, 1, -9)
      if content == '' then redis.call('DEL', ARGV[at + 2]) else redis.call('SET', ARGV[at + 2], content) end
      redis.call('RPUSH', prefix .. 'x', ARGV[at + 2])
      removals = removals + 1
    end
  else
    redis.call(unpack(ARGV, at + 1, at + length))
  end
  at = at + length + 1
end
if removals > 0 then
  redis.call('LTRIM', prefix .. 'x', -10000, -1)
  meta[3] = redis.call('HINCRBY', KEYS[1], 'removed', removals)
end
return {'done', meta[3], redis.call('HGET', KEYS[1], 'runs'), numbers}
"""
)

RUNS = (
    """
-- Reads the runs. ARGV: epoch, prefix. Returns {'gone'}, or {version, entries, dead runs, number of removals}.
local prefix = ARGV[2]
"""
    + _RUNS
    + """
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return {'gone'} end
local read = runs()
read[4] = redis.call('HGET', KEYS[1], 'removed')
return read
"""
)

BEAT = """
-- Shows that a run lives, and declares dead those that have not shown it for long. ARGV: epoch, prefix, run, seconds that
-- the sign of life lasts, which server this is. A server that was away, or was loading, has seen no signs: it must have been
-- there for as long as they last.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'gone' end
local prefix, now = ARGV[2], tonumber(redis.call('TIME')[1])
local own = 'lives'
if redis.call('SISMEMBER', prefix .. 'd', ARGV[3]) == 1 then
  own = 'dead'
else
  redis.call('SET', prefix .. 'l' .. ARGV[3], '1', 'EX', ARGV[4])
end
local server = redis.call('HMGET', KEYS[1], 'server', 'since')
if server[1] ~= ARGV[5] then
  redis.call('HSET', KEYS[1], 'server', ARGV[5], 'since', now)
elseif now - tonumber(server[2]) >= tonumber(ARGV[4]) then
  local died = 0
  for _, run in ipairs(redis.call('HKEYS', prefix .. 'u')) do
    if redis.call('EXISTS', prefix .. 'l' .. run) == 0 then
      died = died + redis.call('SADD', prefix .. 'd', run)
    end
  end
  if died > 0 then redis.call('HINCRBY', KEYS[1], 'runs', 1) end
end
return own
"""

RELEASE = """
-- Ends the life of a run. ARGV: epoch, prefix, run. One that is entered still has died.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'gone' end
local prefix = ARGV[2]
redis.call('DEL', prefix .. 'l' .. ARGV[3])
if redis.call('HEXISTS', prefix .. 'u', ARGV[3]) == 1 and redis.call('SADD', prefix .. 'd', ARGV[3]) == 1 then
  redis.call('HINCRBY', KEYS[1], 'runs', 1)
end
return 'released'
"""
