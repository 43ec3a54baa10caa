"""A stand-in for any server that a configuration proxies to, on any port and in any of nginx's protocols."""
