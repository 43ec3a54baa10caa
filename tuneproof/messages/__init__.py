"""Messages of nginx's error log, and of the kernel about nginx, as rows of data with what to do about each."""
