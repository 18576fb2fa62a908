-- KEYS[1] the record, KEYS[2] the time
-- ARGV    now
-- Returns the value, the version and the time that counts
local record = redis.call('HMGET', KEYS[1], 'value', 'version')
return { record[1], record[2], time(KEYS[2], tonumber(ARGV[1]), false) }
