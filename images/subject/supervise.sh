#!/bin/sh
# Runs a new nginx for each trial, with its own configuration, so that none finds leftovers of an earlier one in memory,
# in a cache or in a log. Commands are lines on standard input; each response is a line of JSON:
#   version               the output of nginx -v
#   test NAME             the output of nginx -t for /etc/subject/NAME.conf
#   start NAME [LIBRARY]  start it, with LIBRARY preloaded; answered once its sockets listen. Lines that end in
#                         "# where known" are left out if nginx refuses the configuration with them.
#   edit EXPRESSION       change the configuration that it was started with, with sed(1), for a reload
#   stop                  fast shutdown (https://nginx.org/en/docs/control.html); answered once its master is gone
#   write NAME BYTES      write a file of this size, in place, in the folder of files that change
#   read NAME             the content of a log in /var/log/subject (cheaper than the engine's own way to fetch a file)
# Each command begins with a number. The response is {"number": the same, "answer": {"status": exit status, "said": the
# output, in base64}}.
set -u
state=/var/lib/subject
said=/dev/shm/said
answer() {
    printf '{"number": %d, "answer": {"status": %d, "said": "%s"}}\n' "$1" "$2" "$(base64 -w0 <"$said")"
}
end() {
    # After a binary upgrade, the old master ends first: otherwise it would take over again once the new one has ended.
    for file in "$state/nginx.pid.oldbin" "$state/nginx.pid"; do
        # nginx -t leaves the file empty.
        [ -s "$file" ] || continue
        master=$(cat "$file")
        kill -TERM "$master"
        # The master removes its file last; one that was killed never does.
        while [ -e "$file" ] && kill -0 "$master"; do sleep 0.01; done
        rm -f "$file"
    done
}
place() {
    cp "/etc/subject/$1.conf" "$state/nginx.conf" || return
    if grep -q '# where known$' "$state/nginx.conf" && ! nginx -t -q -c "$state/nginx.conf" >"$said" 2>&1; then
        sed -i '/# where known$/d' "$state/nginx.conf"
    fi
}
fresh() {
    # A failed trial leaves its nginx running.
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
    # A binary upgrade uses the path that nginx was started with.
    start)
        fresh && place "$name" 2>"$said" &&
            LD_PRELOAD=$argument "$(command -v nginx)" -c "$state/nginx.conf" >"$said" 2>&1
        ;;
    edit) sed -i "$name" "$state/nginx.conf" >"$said" 2>&1 ;;
    stop) end >"$said" 2>&1 ;;
    write) head -c "$argument" /dev/zero >"$state/changing/$name" 2>"$said" ;;
    read) cat "/var/log/subject/$name" >"$said" 2>&1 ;;
    *) echo "no such command: $word" >"$said"; false ;;
    esac
    answer "$number" $?
done
