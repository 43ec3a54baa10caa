"""What nginx's error log, and the kernel about nginx, say: a row per message, as data, with what to do about it."""
