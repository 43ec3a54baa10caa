#!/bin/sh
# The files are sparse and made at start: in an image layer 2 GiB of holes would be stored as 2 GiB of zeros.
set -eu
truncate -s "$BULK_BYTES" /srv/files/bulk.bin
truncate -s "$SMALL_BYTES" /srv/files/small.bin
exec python3 -u -m http.server 8000 --directory /srv/files
