-- KEYS[1] the record, KEYS[2] the latest time this store was used at
-- ARGV    the expected version ('' if there must be no record), the new version, the value, its lifetime in
--         milliseconds, and the current time
-- Returns whether the record was written, and the time that was used
local present = redis.call('HGET', KEYS[1], 'version') or ''
if present ~= ARGV[1] then
    return { 0, time(KEYS[2], tonumber(ARGV[5]), false) }
end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 1, time(KEYS[2], tonumber(ARGV[5]), true) }
