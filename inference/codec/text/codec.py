"""Text codec 1: a snapshot as words for an instruct model, and its fixed-width answer as returns.

The scale is codec 2's where the snapshot has one, codec 1's otherwise, and moves along each path.
A value of `+037` is a rise of 0.37 to 0.38 sigma; the place inside that step comes from the dither
of the other codecs, so zero is an edge and P(rise) is the probability of the first sign.

Rules:
    - The grammar is the engine's mask, of drafts too; this codec still parses every answer.
    - Answers are tokens of the grammar's symbols (`answer.py`), prompts are vocabulary ids.
    - The table, which drafts where no network does and is the placebo, reads no prompt at all: it
      is a normal law on the same scale.
"""

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from inference.codec.alphabet import Alphabet
from inference.codec.codec import MIN_BARS, digest_of_meaning, dither, log_returns
from inference.codec.narrative import speaking
from inference.codec.prompt import Prompt
from inference.codec.scaled import ScaledCodec, ranges_of
from inference.codec.text import answer, template
from inference.codec.text.answer import HUNDREDTHS, Grammar, read_answer, value_of
from inference.codec.text.hostile import MAX_CHARACTERS
from inference.errors import AnswerError, CodecError
from inference.scale.ewma import Scale, first_scale
from inference.scale.moving import MovingScale, scales_of
from inference.scale.path import PathScale
from inference.scale.schedule import BURN_IN
from inference.snapshot import Snapshot

if TYPE_CHECKING:  # it loads Jinja, which a verb that only reads a ledger needs not
    from inference.codec.text.tokenizer import TextTokenizer

SIZING_PATHS: Final = 200
"""Fewest paths whose spread may stand for a volatility; the standard error is 5 % there."""
_SD_FLOOR: Final = 1e-8


class TextCodec(ScaledCodec):
    """Text codec 1 of one tokenizer. Thread-safe."""

    version: ClassVar[str] = "text-codec-1"

    def __init__(self, tokenizer: "TextTokenizer") -> None:
        """Take the tokenizer of the pair's folder."""
        super().__init__()
        self.tokenizer: Final = tokenizer
        self.grammar: Final = Grammar(tokenizer.separators)
        self.digest = text_digest(tokenizer)
        self.vocab_size = tokenizer.vocab_size
        self.bin_start = 0
        self.n_bins = self.grammar.n_symbols
        self.n_table_states = self.n_bins
        self.narrative_ids = frozenset()

    @property
    @override
    def alphabet(self) -> Alphabet:
        """The grammar's symbols with this tokenizer's ids."""
        return self.grammar.alphabet(self.tokenizer.answer_ids)

    @override
    def encode(self, snapshot: Snapshot) -> Prompt:
        """Return the prompt for the bar after the snapshot's last, with its text.

        Raises:
            CodecError: when there are fewer than 49 bars, or the chat template refuses it.
        """
        values, scale = _history(snapshot)
        user = template.user_words(snapshot, values, scale, self.tokenizer.holds_control)
        text = self.tokenizer.prompt_text(template.SYSTEM, user)
        prompt = Prompt(
            token_ids=self.tokenizer.encode(text),
            template=self.version,
            codec_digest=self.digest,
            sigma=scale.sigma.hex(),
            text=text,
        )
        if isinstance(scale, MovingScale):
            return replace(prompt, scale=scale)
        return replace(
            prompt,
            var_fast=scale.fast.hex(),
            var_slow=scale.slow.hex(),
            var_long=scale.long.hex(),
        )

    @override
    def encode_without_news(self, snapshot: Snapshot) -> Prompt | None:
        """Return the prompt with its news blanked, or None if it holds none; see `encode`."""
        if not speaking(snapshot):
            return None
        return self.encode(replace(snapshot, news=()))

    @override
    def tokens_for(self, horizon: int) -> int:
        return self.grammar.tokens_for(horizon)

    @override
    def horizon_of(self, n_tokens: int) -> int:
        return self.grammar.horizon_of(n_tokens)

    @override
    def decode_path(self, prompt: Prompt, tokens: Sequence[int], key: bytes) -> tuple[float, ...]:
        """Return the log returns of an answer; bar i is dithered by (key, i).

        Raises:
            AnswerError: when the answer is malformed or incomplete.
            CodecError: when the prompt is of another codec.
        """
        scale = self.scale_of(prompt)
        returns = []
        for bar, (sign, steps) in enumerate(read_answer(self.grammar.text_of(tokens))):
            value = sign * (steps + dither(key, bar)) / HUNDREDTHS * scale.sigma
            returns.append(value)
            scale = scale.after(value)
        return tuple(returns)

    @override
    def first_step(
        self, prompt: Prompt, p_row: Sequence[float], first_returns: Sequence[float]
    ) -> tuple[float, float, float]:
        """Return P(rise) in closed form, and mean and sd of the first bar.

        An answer's first token is a sign, so its row says P(rise) and nothing of the size. Mean and
        sd are those of the paths. Orders are sized by the sd, so below `SIZING_PATHS` paths it is
        the scale's own sigma, which knows the past and no path.

        Raises:
            AnswerError: fewer than two paths, or a row without mass.
            CodecError: when the prompt is of another codec.
        """
        total = p_row[0] + p_row[1]
        if len(first_returns) < 2 or not total > 0.0:  # noqa: PLR2004 - a spread needs two
            raise AnswerError("the first bar needs two paths and a sign with mass")
        mean = math.fsum(first_returns) / len(first_returns)
        if len(first_returns) < SIZING_PATHS:
            return p_row[0] / total, mean, max(self.scale_of(prompt).sigma, _SD_FLOOR)
        square = math.fsum((one - mean) ** 2 for one in first_returns)
        sd = math.sqrt(square / (len(first_returns) - 1))
        return p_row[0] / total, mean, max(sd, _SD_FLOOR)

    @override
    def table_base(self, token_ids: Sequence[int]) -> int:
        """Return 0: no prompt changes the table."""
        return 0

    @override
    def table_step(self, base: int, last_bin_token: int) -> int:
        """Return the state after a token: the token itself."""
        return last_bin_token if 0 <= last_bin_token < self.n_bins else self.n_bins - 1

    @override
    def table_state(self, token_ids: Sequence[int]) -> int:
        """Return the state before an answer: that after a separator."""
        return self.n_bins - 1

    @override
    def last_bin(self, token_ids: Sequence[int]) -> int:
        """Return the token before an answer: the separator's last."""
        return self.n_bins - 1

    @override
    def scale_of(self, prompt: Prompt) -> PathScale:
        """Return the scale of the first sampled bar; raises as in `ReturnCodec`."""
        if prompt.codec_digest != self.digest:
            raise CodecError(f"expected codec {self.digest[:12]}, was {prompt.codec_digest[:12]}")
        if prompt.scale is not None:
            return prompt.scale
        try:
            return Scale(
                fast=float.fromhex(prompt.var_fast),
                slow=float.fromhex(prompt.var_slow),
                long=float.fromhex(prompt.var_long),
            )
        except (ValueError, OverflowError) as error:
            raise CodecError(f"expected hex floats in the prompt, was {error}") from error


def _history(snapshot: Snapshot) -> tuple[tuple[str, ...], Scale | MovingScale]:
    """Return every return after the burn-in as the grammar writes it, and the scale after it."""
    returns = log_returns(snapshot.bars)
    if len(snapshot.bars) < MIN_BARS:
        raise CodecError(f"expected at least {MIN_BARS} bars, was {len(snapshot.bars)}")
    later = returns[BURN_IN:]
    scales: list[Scale | MovingScale] = []
    if snapshot.scale is None:
        scale = first_scale(returns[:BURN_IN])
        for value in later:
            scales.append(scale)
            scale = scale.after(value)
        scales.append(scale)
    else:
        scales.extend(scales_of(snapshot.scale, returns, ranges_of(snapshot.bars, returns)))
    pairs = zip(later, scales, strict=False)  # the last scale has no return yet
    return tuple(value_of(value / one.sigma) for value, one in pairs), scales[-1]


def text_digest(tokenizer: "TextTokenizer") -> str:
    """Return the SHA-256, hex, of all that gives prompt and answer of this tokenizer meaning."""
    words = {
        "system": template.SYSTEM,
        "units": template.UNITS,
        "asked": template.ASKED,
        "no_news": template.NO_NEWS,
        "values": template.MAX_VALUES,
        "headline": MAX_CHARACTERS,
        "sizing_paths": SIZING_PATHS,
        "answer": [answer.BEGINNING, answer.SEPARATOR, answer.END, answer.N_DIGITS],
        "tokenizer": tokenizer.digest,
        "symbols": list(tokenizer.answer_ids),
        "scale": ScaledCodec().digest,
    }
    return digest_of_meaning(TextCodec.version, words, BURN_IN)


def normal_table(grammar: Grammar) -> bytes:
    """Return the table of a text pair, float32 [symbols, symbols]: the law after each symbol.

    It is a standard normal law of a bar in sigma, as far as a row that knows the last symbol only
    can say it: the third digit knows the second.
    """
    n, ten = grammar.n_symbols, len(answer.DIGITS)
    rows = [[0.0] * n for _ in range(n)]
    cells = [[[_half_normal(a, b, c) for c in range(ten)] for b in range(ten)] for a in range(ten)]
    firsts = [math.fsum(map(math.fsum, one)) for one in cells]
    first, second, third = (2 + place * ten for place in range(answer.N_DIGITS))
    for sign in range(2):
        rows[sign][first : first + ten] = _shares(firsts)
    for digit in range(ten):
        rows[first + digit][second : second + ten] = _shares([math.fsum(b) for b in cells[digit]])
        column = [math.fsum(cells[a][digit][c] for a in range(ten)) for c in range(ten)]
        rows[second + digit][third : third + ten] = _shares(column)
        rows[third + digit][third + ten] = 1.0
    for separator in range(third + ten, n - 1):
        rows[separator][separator + 1] = 1.0
    rows[n - 1][:2] = [0.5, 0.5]
    return array("f", [value for row in rows for value in row]).tobytes()


def _half_normal(first: int, second: int, third: int) -> float:
    low = first + second / 10.0 + third / HUNDREDTHS
    root = math.sqrt(2.0)
    # The difference of erfc keeps its digits in the tail, where that of erf has none.
    return math.erfc(low / root) - math.erfc((low + 1.0 / HUNDREDTHS) / root)


def _shares(values: Sequence[float]) -> list[float]:
    total = math.fsum(values)
    return [value / total for value in values]
