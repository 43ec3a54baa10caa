"""A backend that answers as a trial tells it (BACKEND_KIND=scripted); tuneproof/lab/protocol/scripted.py says what."""
