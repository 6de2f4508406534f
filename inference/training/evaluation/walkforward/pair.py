"""The pair under test and its table, read from the weights as shipped, without vLLM.

One bar is exact: the row of the last prompt token, as it is served. Longer horizons are sampled at
temperature 1 and decoded by the pair's own codec, whose scale runs on along each path.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch

from inference.codec.prompt import Prompt
from inference.codec.scaled import ScaledCodec, codec_named
from inference.errors import RegistryError
from inference.scale.fitted import NO_FIT, ScaleFit
from inference.scale.fitting import Fits
from inference.scale.ranges import range_variance
from inference.snapshot import Bar, Frequency, Snapshot
from inference.training.evaluation.statistics.laws import binned
from inference.training.evaluation.walkforward.rivals import Predicted
from inference.training.evaluation.walkforward.series import History
from inference.training.model import load_model
from inference.training.sampling import bin_rows, fan_out
from inference.training.series import Floats, Ints
from inference.weights.registry import TEXT_KIND, ModelPair, load_pair, load_table

BARS: Final = 300
"""Bars in a prompt's snapshot, as the gateway serves."""
BATCH: Final = 8
_BASE: Final = 1e8
"""Ticks of a snapshot's first close; only ratios of prices matter."""


class PairForecaster:
    """The target (`model`) and the table (`table`) of one pair."""

    def __init__(self, folder: Path, paths: int, seed: int) -> None:
        """Load and check the pair.

        Raises:
            RegistryError: when a file is missing or changed.
            CodecError: when its codec is not of this version.
        """
        self.pair: ModelPair = load_pair(folder)
        if self.pair.kind == TEXT_KIND:
            raise RegistryError(
                f"{self.pair.model_id} is a pair of text models, which this evaluation does not "
                "run: it cannot be promoted, and serves in paper and shadow mode only"
            )
        self._codec = codec_named(self.pair.codec_digest)
        self._fits = Fits() if isinstance(self._codec, ScaledCodec) else None
        self._target = load_model(self.pair.target)
        table = load_table(self.pair)
        rows = np.frombuffer(table.rows, dtype="<f4").reshape(-1, table.n_bins)
        self._table: Floats = rows.astype(np.float64)
        self._paths, self._seed = paths, seed

    def forecasts(
        self, pasts: Sequence[History], horizons: tuple[int, ...]
    ) -> list[dict[str, Predicted]]:
        """Return both forecasts after each past; horizons beyond one bar may be empty."""
        found: list[dict[str, Predicted]] = []
        for start in range(0, len(pasts), BATCH):
            found.extend(self._batch(pasts[start : start + BATCH], horizons))
        return found

    def _batch(
        self, pasts: Sequence[History], horizons: tuple[int, ...]
    ) -> list[dict[str, Predicted]]:
        prompts = [self._codec.encode(self._snapshot(past)) for past in pasts]
        ids = torch.tensor([prompt.token_ids for prompt in prompts])
        text = f"{self._seed}:{pasts[0].name}:{int(pasts[0].closes_us[-1])}"
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
        drawn: Ints | None = None
        if horizons:
            steps = max(horizons)
            generator = torch.Generator().manual_seed(number)
            tokens, sampled = fan_out(self._target, ids, self._paths, steps, generator)
            rows = sampled[:, 0, 0].double().numpy()
            drawn = tokens.numpy()
        else:
            with torch.no_grad():
                rows = bin_rows(self._target(ids)[:, -1]).double().numpy()
        rng = np.random.default_rng(number)
        found = []
        for index, prompt in enumerate(prompts):
            sigma = float.fromhex(prompt.sigma)
            own = {} if drawn is None else self._ends(prompt, drawn[index], horizons)
            table_tokens = self._table_tokens(prompt, max(horizons, default=0), rng)
            first = self._table[self._codec.table_state(prompt.token_ids)]
            away = prompt.scale is not None and prompt.scale.fit.fitter == NO_FIT
            found.append(
                {
                    "model": Predicted(law=binned(rows[index], sigma), ends=own, fallback=away),
                    "table": Predicted(
                        law=binned(first, sigma),
                        ends=self._ends(prompt, table_tokens, horizons),
                        fallback=away,
                    ),
                }
            )
        return found

    def _ends(self, prompt: Prompt, tokens: Ints, horizons: tuple[int, ...]) -> dict[int, Floats]:
        if not horizons:
            return {}
        key = hashlib.sha256(f"{self._seed}:{prompt.sigma}".encode()).digest()
        sums = np.asarray(
            [
                np.cumsum(
                    self._codec.decode_path(
                        prompt, [int(t) for t in path], key + number.to_bytes(4, "big")
                    )
                )
                for number, path in enumerate(tokens)
            ]
        )
        return {h: sums[:, h - 1] for h in horizons}

    def _table_tokens(self, prompt: Prompt, steps: int, rng: np.random.Generator) -> Ints:
        start = self._codec.bin_start
        base = self._codec.table_base(prompt.token_ids)
        states = np.full(self._paths, self._codec.table_state(prompt.token_ids))
        tokens = np.zeros((self._paths, steps), dtype=np.int64)
        sums = np.cumsum(self._table, axis=1)
        for step in range(steps):
            rows = sums[states]
            drawn = (rng.random(self._paths)[:, None] * rows[:, -1:] > rows).sum(axis=1)
            tokens[:, step] = start + drawn
            states = np.asarray([self._codec.table_step(base, int(t)) for t in tokens[:, step]])
        return tokens

    def _snapshot(self, past: History) -> Snapshot:
        closes = [int(v) for v in past.closes_us]
        levels = np.exp(np.concatenate(([0.0], np.cumsum(past.returns[-(BARS - 1) :]))))
        ticks = [max(1, round(_BASE * float(level))) for level in levels]
        shapes = _shapes(past)[-(len(ticks) - 1) :]
        first = Bar(
            close_time_us=closes[-len(ticks)],
            open_ticks=ticks[0],
            high_ticks=ticks[0],
            low_ticks=ticks[0],
            close_ticks=ticks[0],
        )
        rest = [
            _bar(at, close, shape)
            for at, close, shape in zip(closes[-len(shapes) :], ticks[1:], shapes, strict=True)
        ]
        return Snapshot(
            instrument=past.name,
            asset_class=past.asset_class,
            frequency=past.frequency,
            as_of_us=closes[-1],
            bars=(first, *rest),
            scale=None if self._fits is None else self._fit(past, self._fits),
        )

    @staticmethod
    def _fit(past: History, fits: Fits) -> ScaleFit:
        """Return the fit in force after the last bar; it used bars of earlier quarters only."""
        closes = [int(at) for at in past.closes_us]
        returns = [float(value) for value in past.returns]
        found = [
            range_variance(value, np.exp(opened), np.exp(high), np.exp(low), 1.0)
            if np.isfinite((opened, high, low)).all()
            else None
            for value, (opened, high, low) in zip(returns, _shapes(past), strict=True)
        ]
        seasonal = past.frequency is not Frequency.DAILY
        return fits.before(closes, returns, found, len(closes) - 1, seasonal=seasonal)


def _shapes(past: History) -> Floats:
    return np.full((len(past.returns), 3), np.nan) if past.shapes is None else past.shapes


def _bar(at: int, close: int, shape: Floats) -> Bar:
    """Return a bar around its close; without a sound range all four prices are the close."""
    known = shape if np.isfinite(shape).all() else np.zeros(3)
    opened, high, low = (max(1, round(close * float(np.exp(v)))) for v in known)
    return Bar(
        close_time_us=at,
        open_ticks=opened,
        high_ticks=max(high, opened, close),
        low_ticks=min(low, opened, close),
        close_ticks=close,
    )
