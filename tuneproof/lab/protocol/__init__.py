"""What the lab and the programs in its containers say to each other; both sides import it, so it needs Python alone."""
