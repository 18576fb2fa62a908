-- The current time in milliseconds: the time of the caller's clock, unless a later time was used before. It is stored
-- with every change, otherwise once a second. See aquifer_engine::store::HIGH_WATER.
local function time(key, now, changes)
    local stored = tonumber(redis.call('HGET', key, 'value') or '') or 0
    -- The start of the year 2200: a later time came from a broken clock and is ignored.
    if stored >= now and stored < 7258118400000 then
        return stored
    end
    if changes or math.abs(now - stored) >= 1000 then
        local text = string.format('%.0f', now)
        -- A read does not fail because Redis cannot write.
        local call = changes and redis.call or redis.pcall
        call('HSET', key, 'value', text, 'version', text)
    end
    return now
end

