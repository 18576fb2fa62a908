-- The time that counts, in milliseconds: what the caller's clock shows, unless a later time was used before. It is
-- written with every change, else once a second. See aquifer_engine::store::HIGH_WATER.
local function time(key, now, changes)
    local kept = tonumber(redis.call('HGET', key, 'value') or '') or 0
    -- The start of the year 2200: what is later was a broken clock.
    if kept >= now and kept < 7258118400000 then
        return kept
    end
    if changes or math.abs(now - kept) >= 1000 then
        local text = string.format('%.0f', now)
        -- Whoever only reads is not refused because Redis cannot write.
        local call = changes and redis.call or redis.pcall
        call('HSET', key, 'value', text, 'version', text)
    end
    return now
end

