#!/bin/sh
# Creates the secrets of compose.yaml in ./secrets, once. Containers run as different users, so the files are readable by
# all, in a folder that only you can enter.
set -eu
cd "$(dirname "$0")"
if [ -e secrets ]; then
    echo "The folder secrets exists: nothing is changed."
    exit 0
fi
word() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
umask 077
mkdir secrets
shop=$(word)
redis=$(word)
word > secrets/postgres_password
printf '%s' "$shop" > secrets/shop_password
printf 'requirepass %s\nsave ""\nappendonly yes\n' "$redis" > secrets/redis.conf
printf '%s' "$redis" > secrets/redis_password
printf 'SHOP_PASSWORD=%s\nREDIS_PASSWORD=%s\n' "$shop" "$redis" > secrets/aquifer.env
chmod 0444 secrets/*
