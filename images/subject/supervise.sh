#!/bin/sh
# Runs the nginx of one trial after another, each as a new process with a configuration of its own, so that none finds what
# an earlier one left in memory, in a cache or in a log. One line on standard input asks, one line of JSON answers:
#   version               what nginx -v says
#   test NAME             what nginx -t says of /etc/subject/NAME.conf
#   start NAME [LIBRARY]  start it, with LIBRARY preloaded; answered once its sockets listen
#   stop                  fast shutdown (https://nginx.org/en/docs/control.html); answered once its master is gone
#   write NAME BYTES      a file of so many bytes in the folder of files that change, written in place
# Each question has a number in front. The answer is {"number": the same, "answer": {"status": exit status, "said": what it
# printed, in base64}}.
set -u
state=/var/lib/subject
said=/dev/shm/said
answer() {
    printf '{"number": %d, "answer": {"status": %d, "said": "%s"}}\n' "$1" "$2" "$(base64 -w0 <"$said")"
}
end() {
    # A test leaves the file empty.
    [ -s "$state/nginx.pid" ] || return 0
    master=$(cat "$state/nginx.pid")
    kill -TERM "$master"
    # The master takes its file away last; one that was killed never does.
    while [ -e "$state/nginx.pid" ] && kill -0 "$master"; do sleep 0.01; done
    rm -f "$state/nginx.pid"
}
fresh() {
    # One is left by a trial that failed.
    end
    rm -rf "$state"/* /var/log/subject/* /dev/shm/tuneproof.* && mkdir -p "$state/changing" "$state/cache"
}
while read -r line; do
    # shellcheck disable=SC2086 - its words
    set -- $line
    number=$1 word=$2 name=${3-} argument=${4-}
    case "$word" in
    version) nginx -v >"$said" 2>&1 ;;
    test) fresh && nginx -t -q -c "/etc/subject/$name.conf" >"$said" 2>&1 ;;
    start) fresh && LD_PRELOAD=$argument nginx -c "/etc/subject/$name.conf" >"$said" 2>&1 ;;
    stop) end >"$said" 2>&1 ;;
    write) head -c "$argument" /dev/zero >"$state/changing/$name" 2>"$said" ;;
    *) echo "no such word: $word" >"$said"; false ;;
    esac
    answer "$number" $?
done
