"""What the lab and the programs in its containers say to each other."""
