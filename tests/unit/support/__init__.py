"""What the tests themselves rest on."""
