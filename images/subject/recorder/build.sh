#!/bin/sh
# Builds the recorder: build.sh OUTPUT. Warnings are errors; with CC another compiler than cc.
set -eu
exec ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -pthread \
    -o "$1" "$(dirname "$0")/recorder.c" -ldl
