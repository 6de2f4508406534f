"""The fitted scale of each instrument, for model pairs of codec 2 and text pairs.

A scale is fitted on closes of earlier quarters (`inference.scale.schedule`), so a restart or
another process finds the same one. The snapshot carries it: the record of the decision has the
parameters, and a replay fits nothing.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from inference.codec.codec import log_returns
from inference.codec.scaled import ScaledCodec, ranges_of
from inference.snapshot import Bar, Frequency, Snapshot
from inference.weights.registry import TEXT_KIND, load_pair


class Scales:
    """Fits in force; each is estimated once in this process. Thread-safe."""

    def __init__(self) -> None:
        # The door loads arch, pandas and statsmodels, two seconds that only codec 2 needs.
        door: Any = import_module("inference.scale.fitting")
        self._fits = door.Fits()
        self._lock = threading.Lock()

    def on(self, snapshot: Snapshot, known: Sequence[Bar]) -> Snapshot:
        """Return the snapshot with the scale in force after its last bar.

        `known` are all bars up to that one, in order; more than the snapshot has.
        """
        closes, returns = [bar.close_time_us for bar in known], log_returns(known)
        found, seasonal = ranges_of(known, returns), snapshot.frequency is not Frequency.DAILY
        with self._lock:
            fit = self._fits.before(closes, returns, found, len(known) - 1, seasonal=seasonal)
        return replace(snapshot, scale=fit)


def scales_for(model: Path) -> Scales | None:
    """Return what fits scales, or None where the model pair is of codec 1.

    Raises:
        inference.errors.RegistryError: the pair is damaged.
    """
    pair = load_pair(model)
    fitted = pair.kind == TEXT_KIND or pair.codec_digest == ScaledCodec().digest
    return Scales() if fitted else None
