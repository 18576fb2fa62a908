-- KEYS[1] the record, KEYS[2] the latest time this store was used at
-- ARGV    the current time
-- Returns the value, the version and the time that was used
local record = redis.call('HMGET', KEYS[1], 'value', 'version')
return { record[1], record[2], time(KEYS[2], tonumber(ARGV[1]), false) }
