"""The pair that made a decision's forecasts, found by the digests on record.

A setting says which pair forecasts next; it says nothing about the past. Pairs are looked for in
the configured folder, beside it, and among those that ship with this code.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.errors import PairMissingError
from inference.codec.text.codec import TextCodec
from inference.speculation.rounds import QTable
from inference.weights.registry import (
    MANIFEST,
    TABLE,
    TEXT_KIND,
    ModelPair,
    load_pair,
    load_table,
)
from inference.weights.text_pair import codec_for

SHIPPED: Final = Path(__file__).resolve().parents[3] / "inference" / "models"


class Pairs:
    """Pairs at hand, each checked against its manifest when it is first asked for."""

    def __init__(self, configured: Path) -> None:
        """Note the folders."""
        folders = [configured, *_beside(configured.parent), *_beside(SHIPPED)]
        self._folders = {one.resolve(): None for one in folders if (one / MANIFEST).exists()}
        self._configured = configured
        self._loaded: dict[Path, ModelPair] = {}

    def of(self, records: Iterable[Record]) -> ModelPair:
        """Return the pair behind the records of forecasts; the configured one if they name none.

        A forecast's inputs name its table and its weights. The table is looked for first; of two
        pairs with one table the weights decide. Weights that are nowhere at hand are refused by the
        steps that compute with them; a text pair's prompt cannot be read without it.

        Raises:
            PairMissingError: no pair at hand has the recorded table, or read the recorded words.
            RegistryError: a pair's files are not what its manifest says.
        """
        records = tuple(records)
        tables, weights = _tables_named(records), _weights_named(records)
        fits = [one for one in self._at_hand() if not tables or one.files[TABLE] in tables]
        own = [one for one in fits if one.manifest_digest in weights]
        if _in_words(records) and not any(one.kind == TEXT_KIND for one in fits):
            raise self._missing(f"text pair {min(weights, default='without a forecast')}")
        if tables and not fits:
            raise self._missing(f"the drafter's table {min(tables)}")
        return (own or fits)[0] if tables else self._pair(self._configured)

    def _missing(self, named: str) -> PairMissingError:
        return PairMissingError(named=named, looked_in=str(self._configured.parent))

    def table_for(self, records: tuple[Record, ...], served: QTable | None) -> QTable | None:
        """Return the table that drafted these records; None if it is not at hand.

        `served` is the table of the engine that runs; records that name none are read with it.
        """
        if _tables_named(records) <= ({served.digest} if served else set()):
            return served
        try:
            return load_table(self.of(records))
        except PairMissingError:
            return None

    def _at_hand(self) -> Iterator[ModelPair]:
        return (self._pair(folder) for folder in self._folders)

    def _pair(self, folder: Path) -> ModelPair:
        if folder not in self._loaded:
            self._loaded[folder] = load_pair(folder)
        return self._loaded[folder]


def text_codec_of(pair: ModelPair) -> TextCodec | None:
    """Return the codec of a text pair; None for a pair whose codec the snapshot shows.

    Raises:
        RegistryError: the pair was pinned for another codec.
    """
    if pair.kind != TEXT_KIND:
        return None
    codec = codec_for(pair)
    return codec if isinstance(codec, TextCodec) else None


def _beside(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))


def _tables_named(records: Iterable[Record]) -> set[str]:
    """Return the tables that draft: a forecast's inputs name theirs before its rounds do."""
    named = (_inputs(r).get("table") for r in records if r.kind is Kind.SNAPSHOT_TAKEN)
    return {str(one) for one in named if one}


def _inputs(record: Record) -> dict[str, Any]:
    """Return what a forecast depends on, as its opening record names it."""
    return dict(record.body.get("inputs", {}))


def _in_words(records: Iterable[Record]) -> bool:
    """Return whether a forecast was asked for in words, which the record of a text pair shows."""
    asked = (r.body.get("prompt") for r in records if r.kind is Kind.FORECAST_REQUESTED)
    return any(isinstance(prompt, dict) and "text" in prompt for prompt in asked)


def _weights_named(records: Iterable[Record]) -> set[str]:
    named = (_inputs(r).get("model") for r in records if r.kind is Kind.SNAPSHOT_TAKEN)
    return {str(one) for one in named if one}
