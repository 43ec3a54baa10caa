"""TLS: curves, tickets and stapling."""

from typing import Final

from tuneproof.audit.advice import State
from tuneproof.audit.rules.copied_lines.line import CopiedLine, said_as

_SCENARIO: Final = "tls_settings"

LINES: Final = (
    CopiedLine(
        directive="ssl_ecdh_curve",
        scenario=_SCENARIO,
        claim="secp384r1_costs_a_round_trip",
        state=State.HARMFUL,
        why="today's clients offer another curve first: every handshake of TLS 1.3 takes a round trip more",
        when=said_as("secp384r1"),
        leave_out=True,
    ),
    CopiedLine(
        directive="ssl_session_tickets",
        scenario=_SCENARIO,
        claim="tickets_are_lost_in_a_reload_with_a_shared_cache",
        state=State.EXPIRED,
        why="since 1.23.2 the keys of tickets are rotated, and survive a reload, where ssl_session_cache is shared",
        when=lambda said, _block, facts: said.value == "off" and facts.version_numbers >= (1, 23, 2),
    ),
    CopiedLine(
        directive="ssl_stapling",
        scenario=_SCENARIO,
        claim="stapling_needs_a_responder",
        state=State.CANNOT_TELL,
        why="it is ignored where the certificate names no OCSP responder, as Let's Encrypt's do not since 2025",
        when=said_as("on"),
    ),
)
