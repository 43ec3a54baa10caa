"""Programs that a test runs as the init of a user-mode kernel, from files that it uploads."""
