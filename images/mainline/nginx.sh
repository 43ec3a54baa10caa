#!/bin/sh
# The package's nginx with the paths of the distribution's: it was built for those of the folder that it starts in.
exec /usr/lib/tuneproof/nginx -p /usr/share/nginx/ -c /etc/nginx/nginx.conf "$@"
