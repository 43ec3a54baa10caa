"""Pages of docs/generators/: what others' generators and packages write, each line with what is known of it here."""
