#!/bin/sh
# A C compiler for another system: PYTHON_WITH_ZIG="…" ZIG_TARGET=aarch64-linux-musl cc.sh ARG...
# Zig has its own names for targets and its own headers of macOS. Rust has no libraries for outlined atomics and
# sanitizers.
is_value=
for word do
    shift
    if [ "$is_value" ]; then
        is_value=
        continue
    fi
    case "$word" in
        --target=* | -mmacosx-version-min=*) ;;
        -arch | -isysroot | -target) is_value=yes ;;
        *) set -- "$@" "$word" ;;
    esac
done
case "$ZIG_TARGET" in
    aarch64-linux-*) set -- -mno-outline-atomics "$@" ;;
esac
exec "$PYTHON_WITH_ZIG" -m ziglang cc -target "$ZIG_TARGET" -fno-sanitize=undefined "$@"
