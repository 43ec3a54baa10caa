"""Programs of the netadmin role, in the network namespace that it shares with another role."""
