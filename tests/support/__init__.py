"""The common parts of several test modules: canned evidence, test doubles, labs for tests."""
