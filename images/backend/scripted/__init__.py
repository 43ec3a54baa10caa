"""A backend that answers as a trial demands (BACKEND_KIND=scripted): see tuneproof/lab/protocol/scripted.py."""
