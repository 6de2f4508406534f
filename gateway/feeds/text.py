"""Invisible characters in text from outside, which could hide words from a reader."""

import unicodedata

from gateway.errors import IntakeError


def refuse_hidden_text(text: str, *, where: str) -> None:
    """Refuse characters that could hide text from a reader: Unicode class C, variation selectors.

    Raises:
        IntakeError: `text` has such a character.
    """
    for position, character in enumerate(text):
        if _hides(character):
            problem = f"invisible character U+{ord(character):04X} at {position}"
            raise IntakeError(where=where, problem=problem)


def show_hidden_text(text: str) -> str:
    """Return the text with each character that `refuse_hidden_text` refuses as `<U+XXXX>`."""
    return "".join(f"<U+{ord(c):04X}>" if _hides(c) else c for c in text)


def _hides(character: str) -> bool:
    variation = 0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF  # noqa: PLR2004 - Unicode variation selectors
    return variation or unicodedata.category(character).startswith("C")
