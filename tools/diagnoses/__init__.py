"""The share of correct diagnoses on recorded evidence, complete and with a file missing."""
