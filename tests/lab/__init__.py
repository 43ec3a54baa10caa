"""The lab's own promises, with Docker: isolation, clean-up, bad input, and claims that fall when they must."""
