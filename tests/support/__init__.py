"""Code that several test modules share: canned evidence, test doubles, labs for tests."""
