#!/bin/sh
# Serves on port 8000, with "Serving HTTP" in its log; BACKEND_KIND names the kind of backend:
#   files    Python's http.server, the default: /bulk.bin and /small.bin of BULK_BYTES and SMALL_BYTES, and a page at /.
#   static   nginx with one worker: the same files, the page at every other path, with keepalive.
#   asyncio  an event loop: the page at /, and below /hold responses that never end; see server/.
#   scripted an event loop with the responses that standard input sets; see scripted/.
#   standin  for the servers that other people's configurations proxy to, on their ports; see standin/.
set -eu
# The files are sparse and created at start: an image layer would store 2 GiB of holes as 2 GiB of zeros.
files() {
    truncate -s "$BULK_BYTES" /srv/files/bulk.bin
    truncate -s "$SMALL_BYTES" /srv/files/small.bin
}
case "${BACKEND_KIND:-files}" in
files)
    files
    exec python3 -u /opt/backend/files.py
    ;;
static)
    files
    ulimit -S -n "$(ulimit -H -n)"
    # The configuration is checked, and the line printed, before nginx starts: nginx itself prints nothing.
    nginx -e stderr -q -t -c /opt/backend/nginx.conf
    echo "Serving HTTP on port 8000 as nginx"
    exec nginx -e stderr -c /opt/backend/nginx.conf
    ;;
asyncio)
    exec python3 -u -m server
    ;;
scripted)
    exec python3 -u -m scripted
    ;;
standin)
    exec python3 -u -m standin
    ;;
*)
    echo "BACKEND_KIND is \"$BACKEND_KIND\"; it can be files, static, asyncio, scripted or standin" >&2
    exit 64
    ;;
esac
