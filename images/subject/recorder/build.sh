#!/bin/sh
# Builds the recorder and the tracer: build.sh FOLDER. Warnings are errors; CC: the compiler, by default cc.
set -eu
here=$(dirname "$0")
compile() {
    ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror "$@"
}
compile -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -pthread -o "$1/recorder.so" "$here/recorder.c" -ldl
compile -o "$1/tracer" "$here/tracer.c"
