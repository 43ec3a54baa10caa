"""What an nginx.conf means by nginx's rules: includes, settings in effect, sockets, upstreams, locations."""
