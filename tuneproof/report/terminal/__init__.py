"""What terminals and CI jobs show."""
