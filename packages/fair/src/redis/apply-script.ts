// The one place where shared cells change: a script, so that a batch is applied atomically and once.
//
// Guarantee: the changes of a batch are applied together or not at all; a batch whose (client, seq, part)
// was seen changes nothing and answers with the values as they are. Time comes from Redis, never goes
// back, and is the only clock that decay knows. Every change raises the counter `n`, and is published
// with it, so that a listener can tell that it has missed one. `e` identifies one lifetime of these keys:
// a different `e` means that Redis was flushed and `n` started over.
//
// A change is the fold p -> min(high, max(low, D(p) + amount)). Joining a view by max needs no rule of its
// own: it is the fold (0, value, 1). Numbers are written with %.17g, which reads back as the same double;
// what others wrote here is read as a number in [0, 1], or as 0 (F3). A counter that others overwrote
// starts over under a new `e`, so that it is never compared with the previous one.
//
// Above the limit on clients the longest idle ones are forgotten, but none that may still send its last change
// again (F5).
// Arguments and answers are MessagePack: one call into C instead of one per number.
import { defineScript } from './redis-connection.js';

/**
 * KEYS  1 meta, 2 rows, 3 clients, then the hash of each row, in the order of `places`
 * ARGV  1 places: per row id, count, columns…   2 changes: amount, low, high (sum: and time) per cell
 *       3 policy, 4 rate per second, 5 time to live in ms, 6 channel, 7 now in ms or '' for TIME
 *       8 client id, 9 seq, 10 part, 11 parts, 12 origin, 13 `e` if these keys are new
 *       14 cells that may be added, or '': with more nothing is changed, and the origin of the answer is `full`
 *       15 most clients, 16 how long each is remembered at least, in ms
 */
export const applyScript = defineScript(`
local places, changes = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local policy, rate, ttl = ARGV[3], tonumber(ARGV[4]) / 1000, ARGV[5]
local isSum, isLinear = policy == 'sum', policy == 'linear'
local call, format, exp, min, max = redis.call, string.format, math.exp, math.min, math.max
local seqField, partField = 'c:' .. ARGV[8], 'k:' .. ARGV[8]
local seq, part, parts = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

local function whole(text)
  local number = tonumber(text or 0) or -1
  return number >= 0 and number < 9007199254740992 and math.floor(number) or -1
end

local meta = call('HMGET', KEYS[1], 'n', 'e', 't', seqField, partField, 'm')
local n, life = whole(meta[1]), meta[2] or ARGV[13]
if n < 0 then n, life = 0, ARGV[13] end
local now = tonumber(ARGV[7])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
now = max(now, whole(meta[3]))
local nowText = format('%.0f', now)

local isSeen = seq <= whole(meta[4])
if not isSeen and parts > 1 and meta[5] then
  local partSeq, partDone = string.match(meta[5], '^(%d+):(%d+)$')
  isSeen = tonumber(partSeq) == seq and part <= tonumber(partDone)
end

local rows, added = {}, 0
local place = 1
for key = 4, #KEYS do
  local count, fields = places[place + 1], {}
  for index = 0, count - 1 do
    local column = places[place + 2 + index]
    fields[2 * index + 1] = column .. ':prob'
    fields[2 * index + 2] = column .. ':time'
  end
  local stored = call('HMGET', KEYS[key], unpack(fields))
  for index = 1, 2 * count, 2 do
    if not stored[index] then added = added + 1 end
  end
  rows[key] = { fields = fields, stored = stored }
  place = place + 2 + count
end
if not isSeen and ARGV[14] ~= '' and added > tonumber(ARGV[14]) then
  return cmsgpack.pack('full', n, life, now) .. ARGV[1] .. cmsgpack.pack({}) .. cmsgpack.pack({})
end

local values, times = {}, {}
local stride = isSum and 4 or 3
local change, cell = 1, 1
for key = 4, #KEYS do
  local fields, stored = rows[key].fields, rows[key].stored
  local written, isKnown = {}, false
  for index = 1, #fields, 2 do
    isKnown = isKnown or stored[index]
    local p, time = tonumber(stored[index] or 0) or 0, tonumber(stored[index + 1] or 0) or 0
    p = min(1, max(0, p))
    if p > 0 and not isSum and now > time then
      local faded = rate * (now - time)
      if isLinear then p = max(0, p - faded) else p = p * exp(-faded) end
    end
    if not isSeen then
      p = min(changes[change + 2], max(changes[change + 1], p + changes[change]))
      local timeText = nowText
      if isSum then
        time = max(time, changes[change + 3])
        timeText = format('%.0f', time)
      elseif time > now then
        timeText = stored[index + 1]
      end
      written[2 * index - 1], written[2 * index] = fields[index], format('%.17g', p)
      written[2 * index + 1], written[2 * index + 2] = fields[index + 1], timeText
      change = change + stride
    end
    values[cell], times[cell] = p, time
    cell = cell + 1
  end
  if not isSeen then
    call('HSET', KEYS[key], unpack(written))
    call('PEXPIRE', KEYS[key], ttl)
    if not isKnown or n == 0 then call('SADD', KEYS[2], (string.match(KEYS[key], '%d+$'))) end
  end
end

local body = cmsgpack.pack(values)
if isSum then body = body .. cmsgpack.pack(times) end
if isSeen then return cmsgpack.pack('duplicate', n, life, now) .. ARGV[1] .. body end
n = n + 1
local isLast = part == parts
call('HSET', KEYS[1], 'n', n, 'e', life, 't', nowText, 'm', max(0, whole(meta[6])) + added,
  isLast and seqField or partField, isLast and ARGV[9] or ARGV[9] .. ':' .. ARGV[10])
if isLast and meta[5] then call('HDEL', KEYS[1], partField) end
call('ZADD', KEYS[3], nowText, ARGV[8])
if not meta[4] and not meta[5] and call('ZCARD', KEYS[3]) > tonumber(ARGV[15]) then
  local idleSince = format('%.0f', now - ARGV[16])
  for _, id in ipairs(call('ZRANGEBYSCORE', KEYS[3], '-inf', idleSince, 'LIMIT', 0, 2)) do
    call('HDEL', KEYS[1], 'c:' .. id, 'k:' .. id)
    call('ZREM', KEYS[3], id)
  end
end
for key = 1, 3 do call('PEXPIRE', KEYS[key], ttl) end
local message = cmsgpack.pack(ARGV[12], n, life, now) .. ARGV[1] .. body
call('PUBLISH', ARGV[6], message)
return message
`);
