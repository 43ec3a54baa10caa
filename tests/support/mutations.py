"""Texts as strangers bring them: recorded ones, cut, mixed up and overwritten."""

from hypothesis import strategies as st

# What breaks parsers: signs, other scripts' digits, line ends that are none, quotes, and endless numbers.
_PIECES = ("", "-", "-1", "\u0663", "\u00b2", "\x0b", "\r", "\x00", '"', "{", "}", ":", "#", ",", "1e9", "9" * 25, " ")


@st.composite
def mutated(draw: st.DrawFn, recorded: str) -> str:
    """Return the recorded text after one to four changes."""
    text = recorded
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        match draw(st.sampled_from(("cut", "replace", "double", "drop line", "move line"))):
            case "cut":
                text = text[:start]
            case "replace":
                text = text[:start] + draw(st.sampled_from(_PIECES) | st.text(max_size=5)) + text[end:]
            case "double":
                text = text[:end] + text[start:]
            case kind:
                parts = text.split("\n")
                line = parts.pop(draw(st.integers(0, len(parts) - 1)))
                if kind == "move line":
                    parts.insert(draw(st.integers(0, len(parts))), line)
                text = "\n".join(parts)
    return text
