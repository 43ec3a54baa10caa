"""The meaning of an nginx.conf by nginx's rules: includes, settings in effect, sockets, upstreams, locations."""
