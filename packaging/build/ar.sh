#!/bin/sh
# The archiver that belongs to cc.sh.
exec "$PYTHON_WITH_ZIG" -m ziglang ar "$@"
