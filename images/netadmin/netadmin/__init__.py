"""What the netadmin role sees in the network namespace that it shares with another role."""
