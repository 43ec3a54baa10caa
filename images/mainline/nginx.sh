#!/bin/sh
# The package's nginx with the paths of the distribution's: it was built for those of the folder that it starts in.
set -- /usr/lib/tuneproof/nginx -p /usr/share/nginx/ -c /etc/nginx/nginx.conf "$@"
# It is static and loads no library: where the recorder is asked for, the tracer keeps the same record.
case ${LD_PRELOAD-} in
*/recorder.so) set -- /usr/lib/tuneproof/tracer "$@" ;;
esac
unset LD_PRELOAD
exec "$@"
