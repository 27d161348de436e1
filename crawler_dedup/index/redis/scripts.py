"""The scripts that a server runs, each at once: nothing happens between what one reads and what it writes.

All keys of a shard have one hash tag, so that they stand in one slot of a cluster. ``KEYS[1]`` is the hash that says what
the shard is. Keys of records that a script makes cannot be declared: it gives them their numbers. A node that hands the slot
over key by key refuses what asks for a key that it does not have, also where that is not declared. So a script that changes
several keys asks for one that nobody has before it changes any.
"""

from __future__ import annotations

BEGIN = """
-- Makes a shard where there is none. ARGV: epoch, header, number of shards. Returns what there is then of these three.
if redis.call('HEXISTS', KEYS[1], 'epoch') == 0 then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'header', ARGV[2], 'shards', ARGV[3], 'runs', '0', 'removed', '0',
    'writes', '0', 'last', '0', 'count', '0')
end
return redis.call('HMGET', KEYS[1], 'epoch', 'header', 'shards')
"""

EMPTY = """
-- Empties a shard, or makes it. ARGV: epoch of the new one, its header, number of shards. What is left of the old one cannot
-- be reached.
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'header', ARGV[2], 'shards', ARGV[3], 'runs', '0', 'removed', '0',
  'writes', '0', 'last', '0', 'count', '0')
return redis.call('HMGET', KEYS[1], 'epoch', 'header', 'shards')
"""

REMOVE = """
-- Removes keys, unless the shard was emptied meanwhile. KEYS: and those to remove. ARGV: epoch; '': there is no shard.
if (redis.call('HGET', KEYS[1], 'epoch') or '') ~= ARGV[1] then return 'gone' end
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
-- Changes the index if what was read is still so. KEYS: and the buckets and the rows that were read. ARGV: epoch, prefix of
-- all keys, version of the runs, number of removals, time of the server in milliseconds after which the client waits for no
-- answer, the length of each bucket (4 bytes), of each row where its version begins (4 bytes) and the version (6 bytes),
-- number of counts that were read; of each count the field and the value. If anything is to be changed: the key that says
-- what this client has changed last, the number that it gets, seconds for which it stays, by how many the number of records
-- grows; then commands, each behind the number of its arguments. Returns {'gone'}; {'late'};
-- {'stale', runs or 0, removed buckets or 0 or 'all', number of removals, numbers and contents of cells};
-- or {'done', number of removals, version of the runs, numbers of the new records}.
local prefix = ARGV[2]
"""
    + _RUNS
    + """
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'runs', 'removed', 'last', 'count', 'writes')
if meta[1] ~= ARGV[1] then return {'gone'} end
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[5]) then return {'late'} end
local stale, buckets = {}, #ARGV[6] / 4
local function note(cell, offset, content)
  stale[#stale + 1] = cell - 2
  stale[#stale + 1] = offset
  stale[#stale + 1] = content
end
for first = 1, buckets, 1000 do
  local some = math.min(1000, buckets - first + 1)
  local lengths = {struct.unpack('<' .. string.rep('I4', some), ARGV[6], 4 * first - 3)}
  for i = 1, some do
    local key = KEYS[first + i]
    local now, known = redis.call('STRLEN', key), lengths[i]
    if now ~= known then
      if now < known then known = 0 end
      note(first + i, known, redis.call('GETRANGE', key, known, -1))
    end
  end
end
for row = 1, #ARGV[7] / 10 do
  local cell = 1 + buckets + row
  local offset = struct.unpack('<I4', ARGV[7], 10 * row - 9)
  local now = redis.call('GETRANGE', KEYS[cell], offset, -1)
  if now == '' then now = '\0\0\0\0\0\0' end
  if now ~= string.sub(ARGV[7], 10 * row - 5, 10 * row) then note(cell, 0, redis.call('GET', KEYS[cell]) or '') end
end
local at = 9
local outdated = false
for _ = 1, tonumber(ARGV[8]) do
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
if at > #ARGV then return {'done', meta[3], meta[2], {}} end
redis.call('EXISTS', prefix)
redis.call('SET', ARGV[at], ARGV[at + 1], 'EX', ARGV[at + 2])
local numbers, removals, last, count = {}, 0, tonumber(meta[4]), meta[5] + ARGV[at + 3]
at = at + 4
local function encoded(number)
  return struct.pack('<I4B', number % 4294967296, math.floor(number / 4294967296))
end
while at <= #ARGV do
  local length = tonumber(ARGV[at])
  local command = ARGV[at + 1]
  if command == 'new' then
    last = last + 1
    local number = encoded(last)
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
local function decimal(number) return string.format('%.0f', number) end
redis.call('HSET', KEYS[1], 'last', decimal(last), 'count', decimal(count), 'writes', decimal(meta[6] + 1))
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
-- the sign of life lasts, which server this is, whether the run could not show it for long (1 or 0). A server that was away,
-- was stopped or was loading has seen no signs: it must have been there for as long as they last.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'gone' end
local prefix, now = ARGV[2], tonumber(redis.call('TIME')[1])
local own = 'lives'
if redis.call('SISMEMBER', prefix .. 'd', ARGV[3]) == 1 then
  own = 'dead'
else
  redis.call('SET', prefix .. 'l' .. ARGV[3], '1', 'EX', ARGV[4])
end
local server = redis.call('HMGET', KEYS[1], 'server', 'since')
if server[1] ~= ARGV[5] or ARGV[6] == '1' then
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

MEASURE = """
-- Measures a part of the keys. KEYS: those that are measured in any case. ARGV: prefix of the others, pattern of the names
-- that are looked at, how many. Returns bytes of the first; number of names that were looked at; of those with the prefix
-- number and bytes; number of all keys.
local fixed, known = 0, {}
for _, name in ipairs(KEYS) do
  known[name] = true
  fixed = fixed + (redis.call('MEMORY', 'USAGE', name) or 0)
end
local prefix, wanted = ARGV[1], tonumber(ARGV[3])
local looked, count, bytes, cursor, parts = 0, 0, 0, '0', 0
repeat
  parts = parts + 1
  local part = redis.call('SCAN', cursor, 'MATCH', ARGV[2], 'COUNT', wanted)
  cursor = part[1]
  for _, name in ipairs(part[2]) do
    looked = looked + 1
    if string.sub(name, 1, #prefix) == prefix and not known[name] then
      count = count + 1
      bytes = bytes + (redis.call('MEMORY', 'USAGE', name) or 0)
    end
  end
until looked >= wanted or cursor == '0' or parts == 20
return {fixed, looked, count, bytes, redis.call('DBSIZE')}
"""
