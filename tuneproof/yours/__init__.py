"""Claims about the user's own nginx: its files in the lab, stand-ins for what they refer to, and the gain of advice."""
