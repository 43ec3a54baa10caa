"""The init of a wire's kernel: see netadmin/guest.py. A file of its own, since an init is named by its path."""

from netadmin.guest import main

main()
