"""The init of a wire's kernel: see netadmin/guest.py. It is a file of its own because an init is given by its path."""

from netadmin.guest import main

main()
