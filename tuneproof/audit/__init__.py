"""A configuration in, facts and advice out: what an nginx.conf means, read without nginx, Docker or root."""
