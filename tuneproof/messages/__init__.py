"""Messages in nginx's error log, and from the kernel about nginx, as rows of data with what to do about each."""
