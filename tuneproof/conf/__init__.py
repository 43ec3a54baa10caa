"""What an nginx.conf means by nginx's rules: positions, includes, settings in effect, sockets, upstreams, locations."""
