"""A stand-in for whatever a configuration passes requests on to, on any port and in any of nginx's languages."""
