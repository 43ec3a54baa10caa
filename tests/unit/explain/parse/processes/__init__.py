"""What /proc shows about processes."""
