"""The lab: an engine, containers and links in it, an nginx under test, and loads."""
