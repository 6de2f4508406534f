"""What to look for in a log to find a person's name there, in the one form of `name_search`. Pure.

Between a name's words stand blanks of any sort and commas, within it any dash or apostrophe and
what is not shown; its words come in their order or beginning with a later one ("Byron, Ada").
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from audit.privacy.names import APOSTROPHES, BLANKS, DASHES, UNSEEN, folded, orders_of, plain_name

LETTERS_MIN = 3
DIGITS_MIN = 6
_WORDLESS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
_ASTRAL = "\U00010000"
_MARKS = {"-": f"[{DASHES}]", "'": f"[{APOSTROPHES}]"}
_DASH, _APOSTROPHE = re.compile(f"(?!-)[{DASHES}]"), re.compile(f"(?!')[{APOSTROPHES}]")
_BETWEEN, _UNSEEN = re.compile(f"[{BLANKS},]+"), re.compile(f"[{UNSEEN}]+")


@dataclass(frozen=True, slots=True)
class Needle:
    """What is looked for.

    Attributes:
        text: the name in the one form.
        anywhere: False for what is found only where persons are named.
        mistaken: UTF-8 taken for ISO 8859-1.
        pattern: finds it in a text of that form.
    """

    text: str
    anywhere: bool
    mistaken: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the pattern that finds it in a text of the one form."""
        made = re.escape(self.text) if self.mistaken else _pattern(self.text)
        object.__setattr__(self, "pattern", re.compile(made))

    def may_be_in(self, text: str) -> bool:
        """Say whether it may be in a text of the one form, shown; quickly, if it is not."""
        if max(self.text) >= _ASTRAL:
            return True  # its halves may stand apart
        words = [self.text] if self.mistaken else self.text.split(" ")
        return all(word in text for word in words) and (
            len(words) == 1 or self.pattern.search(text) is not None
        )


def needles(names: Iterable[str]) -> tuple[Needle, ...]:
    """Return what to look for, for the names of persons."""
    found: list[Needle] = []
    for name in names:
        plain = plain_name(name)
        if plain:
            anywhere = _is_long(plain)
            words = [word for word in _BETWEEN.split(shown(folded(plain))) if word]
            orders = orders_of(words) if anywhere else [words]
            found += [Needle(" ".join(order), anywhere) for order in orders if order]
            found += [Needle(text, anywhere, mistaken=True) for text in _mistaken(plain)]
    return tuple(dict.fromkeys(found))


def shown(text: str) -> str:
    """Return a text without what is not shown, with one sort of dash and of apostrophe."""
    if text.isascii():
        return text.replace("`", "'")
    return _APOSTROPHE.sub("'", _DASH.sub("-", _UNSEEN.sub("", text)))


def is_wordless(char: str) -> bool:
    """Say whether a character is of a script that writes words without blanks between them."""
    return unicodedata.name(char, "").startswith(_WORDLESS)


def _pattern(text: str) -> str:
    """Return what finds a name, with anything unseen between any two of its characters."""
    unseen, between = f"[{UNSEEN}]*+", f"(?:[{UNSEEN}]*+[{BLANKS},])++[{UNSEEN}]*+"
    return between.join(
        unseen.join(_MARKS.get(char) or re.escape(char) for char in word)
        for word in text.split(" ")
    )


def _mistaken(name: str) -> Iterator[str]:
    """Yield the name's UTF-8 bytes taken for ISO 8859-1, as FIX text in a log of ours is."""
    cased = {name, name.lower(), name.upper(), name.casefold(), name.title()}
    for form in {unicodedata.normalize(how, text) for how in ("NFC", "NFD") for text in cased}:
        if not form.isascii():
            yield folded(form.encode("utf-8", "surrogatepass").decode("latin-1"))


def _is_long(name: str) -> bool:
    if name.isdecimal():
        return len(name) >= DIGITS_MIN
    return sum(2 if is_wordless(char) else 1 for char in name) >= LETTERS_MIN
