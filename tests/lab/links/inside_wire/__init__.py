"""Programs that a test uploads and runs as the init of a user-mode kernel."""
