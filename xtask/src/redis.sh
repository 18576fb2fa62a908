# Keeps one throw-away Redis for as long as its standard input stays open. redis.rs runs it as
#
#   sh -c TEXT keeper PORT...
#
# Of the ports, the first that is still free is taken. The first line of the input is the password. The answer is one
# line, 'ready PORT', or else what went wrong.
#
# The input ends when xtask lets go of the server, and just so when xtask is killed, so neither the server nor its files
# outlive it.

set -u
exec 2>&1
umask 077
IFS= read -r password || exit 1

home=$(mktemp -d /tmp/aquifer-redis.XXXXXX) || exit 1
log=$home/log
server=
# At once rather than tidily: the files are deleted anyway.
trap '[ -z "$server" ] || { kill -9 "$server"; wait "$server"; } 2>/dev/null; rm -rf "$home"' EXIT
# Some shells leave without the above when a signal ends them. PIPE comes when xtask was killed before the answer.
trap 'exit 1' HUP INT PIPE TERM

# A file rather than arguments, which everybody on the machine can read.
configure() {
    cat >"$home/redis.conf" <<END
bind 127.0.0.1
port $port
dir $home
logfile $log
requirepass $password
save ""
appendonly no
END
}

# Whether the server accepts connections within ten seconds. It ends by itself when the port is taken.
answers() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        kill -0 "$server" 2>/dev/null || return 1
        grep -q 'Ready to accept connections' "$log" 2>/dev/null && return
        sleep 0.3
    done
    return 1
}

for port; do
    configure
    redis-server "$home/redis.conf" </dev/null >>"$log" 2>&1 &
    server=$!
    if answers; then
        echo "ready $port"
        read -r _
        exit
    fi
    kill -9 "$server" 2>/dev/null
    wait "$server"
done
tail -n 30 "$log"
exit 1
