#!/bin/sh
# Builds the counter of system calls: build.sh OUTPUT. Warnings are errors; with CC another compiler than cc.
set -eu
here=$(dirname "$0")
exec ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -pthread \
    -o "$1" "$here/calls.c" -ldl
