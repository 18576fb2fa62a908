# Keeps one throw-away PostgreSQL for as long as its standard input stays open. postgres.rs runs it, never as root, as
#
#   sh -c TEXT keeper BIN PORT...
#
# BIN is where the server's programs are; of the ports, the first that is still free is taken. The first line of the
# input is the superuser's password. The answer is one line, 'ready PORT CTYPE', or else what went wrong.
#
# The input ends when xtask lets go of the server, and just so when xtask is killed, so neither the server nor its files
# outlive it.

set -u
exec 2>&1
bin=$1
shift
umask 077
IFS= read -r password || exit 1

# Memory instead of a disk, if there is enough: each test creates a database, and waits until all of it is on the disk.
# Otherwise /tmp, whatever TMPDIR says: the user we run as may write there, and the path of a socket has room for 100 bytes
# only.
place=/tmp
room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${room:-0}" -gt 4000000 ] && [ -w /dev/shm ]; then
    place=/dev/shm
fi
home=$(mktemp -d "$place/aquifer-pg.XXXXXX") || exit 1
data=$home/data
log=$home/log
# At once rather than tidily: the files are deleted anyway.
trap '"$bin/pg_ctl" --pgdata="$data" --mode=immediate stop >>"$log" 2>&1; rm -rf "$home"' EXIT
# Some shells leave without the above when a signal ends them. PIPE comes when xtask was killed before the answer.
trap 'exit 1' HUP INT PIPE TERM

# Text compares by code point, but knows its letters. The locale for that has other names, or none, outside Linux.
create() {
    for ctype in C.UTF-8 en_US.UTF-8 C; do
        "$bin/initdb" --pgdata="$data" --username=aquifer_test --pwfile="$home/password" --auth=scram-sha-256 \
            --encoding=UTF8 --locale=C --lc-ctype="$ctype" </dev/null && return
    done
    return 1
}

# Durability stays as it is: tests that crash something rely on it.
configure() {
    cat >>"$data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '$home'
max_connections = 200
shared_buffers = 64MB
END
}

# pg_ctl asks until the server accepts connections, has ended, or a minute has passed.
start() {
    for port; do
        "$bin/pg_ctl" --pgdata="$data" --log="$log" --options="-p $port" --timeout=60 start </dev/null && return
    done
    return 1
}

printf '%s\n' "$password" >"$home/password"
if ! { create && rm "$home/password" && configure && start "$@"; } >>"$log" 2>&1; then
    tail -n 30 "$log"
    exit 1
fi
echo "ready $port $ctype"
read -r _
