"""What several test modules share: canned evidence, doubles, labs for tests."""
