#!/bin/sh
# A C compiler for static ARM64 binaries: PYTHON_WITH_ZIG="…" cc.sh ARG...
# The target that build scripts pass has another name in Zig. Rust has no libraries for outlined atomics and sanitizers.
for word do
    shift
    case "$word" in
        --target=*) ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec "$PYTHON_WITH_ZIG" -m ziglang cc -target aarch64-linux-musl -mno-outline-atomics -fno-sanitize=undefined "$@"
