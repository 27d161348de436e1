"""The Lua scripts that a server runs, each as one atomic step.

The keys of new records cannot be declared, because the script assigns their numbers.

Each change is noted in a log (:mod:`crawler_dedup.index.redis.changelog`). From the end of the log, a script determines
whether anything that a client has read was changed since.
"""

from __future__ import annotations

from crawler_dedup.index.redis.changelog import LONGEST, MARK_BYTES, TOKEN_BYTES

_SIZES = f"""
local MARK, TOKEN, LONGEST = {MARK_BYTES}, {TOKEN_BYTES}, {LONGEST}
"""

_MAKE = (
    _SIZES
    + """
local function make(epoch, header, layout)
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'header', header, 'layout', layout)
  local prefix, mark = KEYS[1] .. epoch, epoch .. string.rep('\\0', MARK - #epoch)
  redis.call('SET', prefix .. 'g', mark)
  redis.call('SET', prefix .. 'v', struct.pack('<I8I8', #mark, 0) .. mark)
end
"""
)

BEGIN = (
    """
-- Creates an index if there is none. KEYS: its hash of properties. ARGV: epoch, header, layout. Returns these three
-- properties as they are then.
"""
    + _MAKE
    + """
if redis.call('HEXISTS', KEYS[1], 'epoch') == 0 then make(unpack(ARGV)) end
return redis.call('HMGET', KEYS[1], 'epoch', 'header', 'layout')
"""
)

EMPTY = (
    """
-- Empties an index, or creates it. KEYS and ARGV as for BEGIN. No name leads to the keys that are left of the old index.
"""
    + _MAKE
    + """
local old = redis.call('HGET', KEYS[1], 'epoch')
redis.call('DEL', KEYS[1])
if old then redis.call('DEL', KEYS[1] .. old .. 'v') end
make(unpack(ARGV))
return redis.call('HMGET', KEYS[1], 'epoch', 'header', 'layout')
"""
)

REMOVE = """
-- Removes keys, unless the index was emptied meanwhile. KEYS: the hash of properties, the keys to remove. ARGV: epoch.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'gone' end
redis.call('UNLINK', unpack(KEYS, 2))
return 'removed'
"""

_LOG = (
    _SIZES
    + """
local function write_log(entry)
  if redis.call('APPEND', prefix .. 'g', entry) > 2 * LONGEST then
    redis.call('SET', prefix .. 'g', redis.call('GETRANGE', prefix .. 'g', -LONGEST, -1))
  end
end
"""
)

COMMIT = (
    """
-- Changes the index if nothing that was read has changed. KEYS: the state, the log, cells that were assumed to be empty,
-- buckets to which payloads are appended, rows that are written. ARGV: prefix of all keys; state that the client knows; time
-- of the server in milliseconds after which the client does not wait any more; tokens of the names that were read; number of
-- cells that were assumed to be empty. If anything is to be changed, then: entry of the log; change of the number of
-- records; payloads, of 8 bytes each; number of rows, and their contents; commands, each after the number of its arguments.
-- Returns {'gone'}; {'late'}; {'unknown'}: everything may have changed; {'stale', state, entries of others in the log,
-- contents of the cells that were assumed empty if one is not}; or {'done', state, entries of others in the log}.
local prefix = ARGV[1]
"""
    + _LOG
    + """
local state = redis.call('GET', KEYS[1])
if not state then return {'gone'} end
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[3]) then return {'late'} end
local position, count = struct.unpack('<I8I8', state)
local tail, stale = '', false
local function tokens(packed, first)  -- as numbers, and one more
  return {struct.unpack('<' .. string.rep('I8', math.min(100, (#packed - first + 1) / TOKEN)), packed, first)}
end
if state ~= ARGV[2] then
  local missed = position - struct.unpack('<I8', ARGV[2])
  if missed < 0 or missed > LONGEST then return {'unknown'} end
  tail = redis.call('GETRANGE', KEYS[2], -missed - MARK, -1)
  if #tail ~= missed + MARK or string.sub(tail, 1, MARK) ~= string.sub(ARGV[2], -MARK) then return {'unknown'} end
  tail = string.sub(tail, MARK + 1)
  local read = {[string.byte('u')] = true}
  for first = 1, #ARGV[4], 100 * TOKEN do
    local some = tokens(ARGV[4], first)
    for at = 1, #some - 1 do read[some[at]] = true end
  end
  for first = 1, #tail, 100 * TOKEN do
    local some = tokens(tail, first)
    for at = 1, #some - 1 do stale = stale or read[some[at]] end
  end
end
local buckets, empty = 2 + tonumber(ARGV[5]), true
for first = 3, buckets, 1000 do
  empty = empty and redis.call('EXISTS', unpack(KEYS, first, math.min(first + 999, buckets))) == 0
end
if stale or not empty then
  local contents = {}
  for first = 3, empty and 0 or buckets, 1000 do
    for _, content in ipairs(redis.call('MGET', unpack(KEYS, first, math.min(first + 999, buckets)))) do
      contents[#contents + 1] = content
    end
  end
  return {'stale', state, tail, contents}
end
if #ARGV < 6 then return {'done', state, tail} end
local entry, payloads, added, rows = ARGV[6], ARGV[8], #ARGV[8] / 8, {KEYS[1], ''}
count = math.max(count + tonumber(ARGV[7]), 0)
for row = 1, tonumber(ARGV[9]) do
  rows[#rows + 1] = KEYS[buckets + added + row]
  rows[#rows + 1] = ARGV[9 + row]
end
local at = 10 + tonumber(ARGV[9])
state = struct.pack('<I8I8', position + #entry, count) .. string.sub(entry, -MARK)
rows[2] = state
for first = 1, #rows, 2000 do
  redis.call('MSET', unpack(rows, first, math.min(first + 1999, #rows)))
end
for bucket = 1, added do
  redis.call('APPEND', KEYS[buckets + bucket], string.sub(payloads, 8 * bucket - 7, 8 * bucket))
end
while at <= #ARGV do
  local length = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + length))
  at = at + length + 1
end
write_log(entry)
return {'done', state, tail}
"""
)

RUNS = """
-- Reads the runs. KEYS: the state. ARGV: prefix. Returns {'gone'}, or {state, entries, dead runs}.
local state = redis.call('GET', KEYS[1])
if not state then return {'gone'} end
local entries, dead = redis.call('HGETALL', ARGV[1] .. 'u'), redis.call('SMEMBERS', ARGV[1] .. 'd')
return {state, entries, dead}
"""

_NOTE_RUNS = (
    _LOG
    + """
local function note_runs(run)
  local state, time = redis.call('GET', prefix .. 'v'), redis.call('TIME')
  local position, count = struct.unpack('<I8I8', state)
  local mark = struct.pack('<I8I4', time[1] * 1000000 + time[2], 0) .. run
  redis.call('SET', prefix .. 'v', struct.pack('<I8I8', position + TOKEN + #mark, count) .. mark)
  write_log('u' .. string.rep('\\0', TOKEN - 1) .. mark)
end
"""
)

BEAT = (
    """
-- Gives a sign of life of a run, and declares the runs dead that have given none for long. ARGV: epoch, prefix, run, seconds
-- after which a sign of life expires, run ID of the server, whether this run could not give one for long (1 or 0). A server
-- that was not available has seen no signs of life: it must have been available for as long as they last.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'gone' end
local prefix, time = ARGV[2], redis.call('TIME')
local now = tonumber(time[1])
"""
    + _NOTE_RUNS
    + """
local own = 'lives'
if redis.call('SISMEMBER', prefix .. 'd', ARGV[3]) == 1 then
  own = 'dead'
else
  redis.call('SET', prefix .. 'l' .. ARGV[3], string.format('%d.%06d', time[1], time[2]), 'EX', ARGV[4])
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
  if died > 0 then note_runs(ARGV[3]) end
end
return own
"""
)

RELEASE = (
    """
-- Ends a run. ARGV: epoch, prefix, run. If it still has an entry, it counts as dead.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 'gone' end
local prefix = ARGV[2]
"""
    + _NOTE_RUNS
    + """
redis.call('DEL', prefix .. 'l' .. ARGV[3])
if redis.call('HEXISTS', prefix .. 'u', ARGV[3]) == 1 and redis.call('SADD', prefix .. 'd', ARGV[3]) == 1 then
  note_runs(ARGV[3])
end
return 'released'
"""
)

MEASURE = """
-- Measures a part of the keys. KEYS: keys that are always measured. ARGV: prefix of the other keys, how many names to scan.
-- Returns the bytes of KEYS; the number of names that were scanned; the bytes of those with the prefix; the number of all
-- keys.
local fixed, known = 0, {}
for _, name in ipairs(KEYS) do
  known[name] = true
  fixed = fixed + (redis.call('MEMORY', 'USAGE', name) or 0)
end
local prefix, wanted = ARGV[1], tonumber(ARGV[2])
local looked, bytes, cursor, parts = 0, 0, '0', 0
repeat
  parts = parts + 1
  local part = redis.call('SCAN', cursor, 'COUNT', wanted)
  cursor = part[1]
  for _, name in ipairs(part[2]) do
    looked = looked + 1
    if string.sub(name, 1, #prefix) == prefix and not known[name] then
      bytes = bytes + (redis.call('MEMORY', 'USAGE', name) or 0)
    end
  end
until looked >= wanted or cursor == '0' or parts == 20
return {fixed, looked, bytes, redis.call('DBSIZE')}
"""
