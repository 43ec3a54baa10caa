"""The product: claims as tests."""
