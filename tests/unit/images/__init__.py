"""The programs inside the images."""
