#!/bin/sh
# Builds the library that restores all registers: build.sh OUTPUT. Warnings are errors; CC: the compiler, by default cc.
set -eu
exec ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -o "$1" "$(dirname "$0")/xstate.c" -ldl
