"""How often a diagnosis is right on the evidence that a run has recorded, whole and with files missing."""
