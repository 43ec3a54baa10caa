"""The claims of the catalogue, as tests."""
