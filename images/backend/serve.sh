#!/bin/sh
# Serves on port 8000, with "Serving HTTP" in its log, as the kind of backend that BACKEND_KIND names:
#   files    Python's http.server, the default: /bulk.bin and /small.bin of BULK_BYTES and SMALL_BYTES, and a page at /.
#   static   nginx with one worker: the same files, the page at every other path, and connections that are kept.
#   asyncio  an event loop: the page at /, and below /hold answers that never end; see server/.
#   scripted an event loop that answers as it is told on standard input; see scripted/.
#   standin  for whatever other people's configurations pass requests on to, on the ports that they say; see standin/.
set -eu
# The files are sparse and made at start: in an image layer 2 GiB of holes would be stored as 2 GiB of zeros.
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
    # Every connection is a file descriptor.
    ulimit -S -n "$(ulimit -H -n)"
    # Tried first: nginx itself does not say that it serves.
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
