"""Files: how they are read, sent, compressed and logged."""

from typing import Final

from tuneproof.audit.advice import State
from tuneproof.audit.rules.copied_lines.line import CopiedLine
from tuneproof.audit.tree import Block

_SCENARIO: Final = "serving_files"


def _all_tls(block: Block) -> bool:
    """Tell whether all servers that a directive of this block is for speak TLS."""
    servers = block.servers()
    return bool(servers) and all(server.listens_with("ssl") for server in servers)


LINES: Final = (
    CopiedLine(
        directive="sendfile",
        scenario=_SCENARIO,
        claim="sendfile_serves_https",
        state=State.WITHOUT_EFFECT,
        why="what goes out over TLS is read and encrypted by nginx, never sent by sendfile(2)",
        when=lambda said, block, _facts: said.value == "on" and _all_tls(block),
    ),
    CopiedLine(
        directive="sendfile",
        scenario=_SCENARIO,
        claim="sendfile_serves_plain_files",
        state=State.IN_EFFECT,
        why="for plain files; not for TLS, for what is compressed, or for what comes from an upstream",
        when=lambda said, block, _facts: said.value == "on" and not _all_tls(block),
    ),
    CopiedLine(
        directive="tcp_nopush",
        scenario=_SCENARIO,
        claim="sendfile_splits_small_answers",
        state=State.IN_EFFECT,
        why="with sendfile on, the head and the body of a small file go out in one segment",
        when=lambda said, block, _facts: said.value == "on" and block.is_on("sendfile"),
    ),
    CopiedLine(
        directive="tcp_nopush",
        scenario=_SCENARIO,
        claim="small_answers_without_sendfile_are_split",
        state=State.WITHOUT_EFFECT,
        why="it is about sendfile, which is not on here",
        when=lambda said, block, _facts: said.value == "on" and not block.is_on("sendfile"),
        leave_out=True,
    ),
    CopiedLine(
        directive="open_file_cache",
        scenario=_SCENARIO,
        claim="open_file_cache_cuts_grown_files",
        state=State.HARMFUL,
        why="a file that grows in place is cut off at its old length until the cache looks again: replace files by "
        "renaming new ones over them",
        when=lambda said, _block, _facts: said.value != "off",
    ),
    CopiedLine(
        directive="access_log",
        scenario=_SCENARIO,
        claim="log_with_variable_opens_each_time",
        state=State.HARMFUL,
        why="a variable in its path makes nginx open and close the file for every request",
        when=lambda said, block, _facts: "$" in said.value and block.setting("open_log_file_cache") is None,
    ),
    CopiedLine(
        directive="access_log",
        scenario=_SCENARIO,
        claim="log_buffer_saves_writes",
        state=State.IN_EFFECT,
        why="lines are collected before they are written",
        when=lambda said, _block, _facts: any(arg.startswith("buffer=") for arg in said.args),
    ),
    CopiedLine(
        directive="gzip_comp_level",
        scenario=_SCENARIO,
        claim="gzip_9_is_much_smaller",
        state=State.HARMFUL,
        why="levels above 6 cost CPU time and make text hardly smaller",
        when=lambda said, _block, _facts: said.value in ("7", "8", "9"),
        instead="gzip_comp_level 5;",
    ),
)
