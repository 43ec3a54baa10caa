"""How often a diagnosis is right on recorded evidence, complete and with a file missing."""
