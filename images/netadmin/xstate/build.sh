#!/bin/sh
# Builds what hands registers back whole: build.sh OUTPUT. Warnings are errors; with CC another compiler than cc.
set -eu
exec ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -o "$1" "$(dirname "$0")/xstate.c" -ldl
