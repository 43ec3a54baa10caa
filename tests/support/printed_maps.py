"""Output of bpftrace."""

import json

WORKER = 4711


def printed(text: str) -> str:
    return json.dumps({"type": "printf", "data": text})


def histogram(**counts: int) -> str:
    buckets = [{"min": 1 << int(name[1:]), "max": (2 << int(name[1:])) - 1, "count": n} for name, n in counts.items()]
    return json.dumps({"type": "hist", "data": {"@took": {str(WORKER): buckets}}})
