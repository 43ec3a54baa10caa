#!/bin/sh
# The package's nginx with the distribution's paths: it was built for paths below its working directory.
set -- /usr/lib/tuneproof/nginx -p /usr/share/nginx/ -c /etc/nginx/nginx.conf "$@"
# It is static and loads no library: if the recorder is requested, the tracer keeps the same record.
case ${LD_PRELOAD-} in
*/recorder.so) set -- /usr/lib/tuneproof/tracer "$@" ;;
esac
unset LD_PRELOAD
exec "$@"
