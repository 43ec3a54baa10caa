"""Containers and labs."""
