-- The same arithmetic as aquifer_engine::store::Window, which explains it. A test compares the two.
--
-- KEYS[1] the amounts spent, as a hash of buckets; KEYS[2] the latest time this store was used at
-- ARGV    the width of a bucket in milliseconds, the amount, the limit, and the current time
-- Returns whether the amount was spent, the total, the milliseconds until it fits (-1: never), and the time that was used
local BUCKETS, WHOLE = 60, 1000
local width, amount, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = time(KEYS[2], tonumber(ARGV[4]), amount > 0)
local this = math.floor(now / width)

local buckets, expired, sum = {}, {}, 0
local hash = redis.call('HGETALL', KEYS[1])
for at = 1, #hash, 2 do
    local bucket, spent = tonumber(hash[at]), tonumber(hash[at + 1])
    if math.abs(bucket - this) > BUCKETS then
        expired[#expired + 1] = hash[at]
    else
        buckets[#buckets + 1] = { bucket, spent }
        sum = sum + spent
    end
end
table.sort(buckets, function(one, other) return one[1] < other[1] end)

local total = sum
local first = buckets[1]
if first and first[1] + BUCKETS == this then
    local left = width - (now - this * width)
    local share = math.floor((left * WHOLE + width - 1) / width)
    total = sum - first[2] + math.floor((first[2] * share + WHOLE - 1) / WHOLE)
end

if total + amount <= limit then
    if amount > 0 then
        if #expired > 0 then
            redis.call('HDEL', KEYS[1], unpack(expired))
        end
        redis.call('HINCRBY', KEYS[1], string.format('%.0f', this), string.format('%.0f', amount))
        -- Longer than any bucket counts. This only removes unused keys.
        redis.call('PEXPIRE', KEYS[1], string.format('%.0f', (2 * BUCKETS + 2) * width + 60000))
    end
    return { 1, total + amount, 0, now }
end
if amount > limit then
    return { 0, total, -1, now }
end
local later = sum
for _, entry in ipairs(buckets) do
    later = later - entry[2]
    local room = limit - amount - later
    if room >= 0 then
        local share = math.min(WHOLE, math.floor(room * WHOLE / entry[2]))
        local moment = (entry[1] + BUCKETS + 1) * width - math.floor(share * width / WHOLE)
        return { 0, total, math.max(1, moment - now), now }
    end
end
return { 0, total, 1, now }
