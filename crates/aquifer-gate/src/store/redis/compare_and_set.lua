-- KEYS[1] the record
-- ARGV    the expected version ('' if there must be none), the new version, the value, how many milliseconds to keep it
local present = redis.call('HGET', KEYS[1], 'version') or ''
if present ~= ARGV[1] then
    return 0
end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
