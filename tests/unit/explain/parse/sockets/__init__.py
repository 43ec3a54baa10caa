"""Tables of sockets."""
