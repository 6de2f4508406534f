r"""The grammar of an answer in words, its symbols, and its strict parser.

An answer is one JSON object: `{"returns":["+037","-112"]}`, one text for each bar, a sign and three
digits: hundredths of the bar's volatility. As a regular expression, for H bars:

    ^\{"returns":\["[+-][0-9]{3}(","[+-][0-9]{3}){H-1}"\]\}$

The width is fixed, so the place of a token says which characters may stand there, and a draft can
leave the grammar as little as the target can. The beginning ends the prompt and the end is added
after the last digit, for both have no choice; the separators between bars have none either, but the
model must read them. So a bar is a sign, three digits and a separator of one or three tokens.

Symbols: 2 signs, then 10 for each of the three digits, then one for each token of the separator.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from inference.codec.alphabet import Alphabet
from inference.errors import AnswerError

BEGINNING: Final = '{"returns":["'
SEPARATOR: Final = '","'
END: Final = '"]}'
SIGNS: Final = "+-"
DIGITS: Final = "0123456789"
N_DIGITS: Final = 3
HUNDREDTHS: Final = 100
"""Steps of the answer in one sigma."""
CHARACTERS: Final = 1 + N_DIGITS
"""Characters of a value: a sign and three digits."""
_FIRST_DIGIT: Final = len(SIGNS)
_FIRST_SEPARATOR: Final = _FIRST_DIGIT + N_DIGITS * len(DIGITS)
_VALUE: Final = re.compile(r"[+-][0-9]{3}")


@dataclass(frozen=True, slots=True)
class Grammar:
    """The answer of one tokenizer; `separators` are the texts of the separator's tokens."""

    separators: tuple[str, ...]

    @classmethod
    def of_capture(cls, start: int, n_symbols: int) -> "Grammar | None":
        """Return the grammar of a capture's tokens; None where they are return bins."""
        for separators in ((SEPARATOR,), tuple(SEPARATOR)):
            found = cls(separators)
            if (start, n_symbols) == (0, found.n_symbols):
                return found
        return None

    @property
    def width(self) -> int:
        """Tokens from one bar's sign to the next."""
        return CHARACTERS + len(self.separators)

    @property
    def n_symbols(self) -> int:
        """Number of symbols."""
        return _FIRST_SEPARATOR + len(self.separators)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each symbol."""
        return (*SIGNS, *DIGITS * N_DIGITS, *self.separators)

    def tokens_for(self, horizon: int) -> int:
        """Return how many tokens answer for so many bars."""
        return self.width * horizon - len(self.separators)

    def horizon_of(self, n_tokens: int) -> int:
        """Return how many bars so many tokens answer for; a begun bar counts."""
        return -(-n_tokens // self.width)

    def slots(self) -> tuple[tuple[int, int], ...]:
        """Return the symbols [from, to) of each place of a bar."""
        signs = ((0, _FIRST_DIGIT),)
        firsts = range(_FIRST_DIGIT, _FIRST_SEPARATOR, len(DIGITS))
        digits = tuple((first, first + len(DIGITS)) for first in firsts)
        ends = tuple((at, at + 1) for at in range(_FIRST_SEPARATOR, self.n_symbols))
        return (*signs, *digits, *ends)

    def alphabet(self, ids: Sequence[int]) -> Alphabet:
        """Return the alphabet with these vocabulary ids: signs, digits, then separators."""
        signs, digits, ends = ids[:2], ids[2:12], ids[12:]
        return Alphabet(start=0, ids=(*signs, *tuple(digits) * N_DIGITS, *ends), slots=self.slots())

    def text_of(self, tokens: Sequence[int]) -> str:
        """Return the whole answer of tokens, its beginning and end included.

        Raises:
            AnswerError: a token is no symbol.
        """
        texts = self.texts
        for place, token in enumerate(tokens):
            if not 0 <= token < len(texts):
                raise AnswerError(f"token {place} of the answer is {token}, which is no symbol")
        return BEGINNING + "".join(texts[token] for token in tokens) + END


def read_answer(text: str) -> tuple[tuple[int, int], ...]:
    """Return each bar's sign and hundredths, from the text of an answer.

    Raises:
        AnswerError: the text is not one object of the grammar: malformed, incomplete or empty.
    """
    try:
        found: Any = json.loads(text)
        values = found["returns"]
        whole = set(found) == {"returns"} and isinstance(values, list) and values
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise AnswerError(f"the answer is not the JSON object that was asked for: {error}") from (
            error
        )
    if not whole:
        raise AnswerError('the answer must be one object with a list "returns"')
    for bar, value in enumerate(values, start=1):
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None:
            raise AnswerError(f"bar {bar} of the answer is not a sign and {N_DIGITS} digits")
    if written(values) != text:
        raise AnswerError("the answer has other characters than the grammar's")
    return tuple((1 if value[0] == "+" else -1, int(value[1:])) for value in values)


def written(values: Sequence[str]) -> str:
    """Return an answer's text from its values, such as "+037"."""
    return BEGINNING + SEPARATOR.join(values) + END


def value_of(z: float) -> str:
    """Return a scaled return as the grammar writes it; it stops at 9.99 sigma."""
    steps = min(int(abs(z) * HUNDREDTHS), HUNDREDTHS * 10 - 1)
    return f"{'-' if z < 0.0 else '+'}{steps:03d}"
