"""Claims on the user's own nginx: its files in the lab, stand-ins for what they name, and what advice gains there."""
