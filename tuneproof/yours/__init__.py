"""Claims about the user's own nginx: its files in the lab, stand-ins for what they name, and the gain from advice."""
