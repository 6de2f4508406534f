"""A prompt without words, and two tables: the shipped pair's, and one that answers to each move."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from inference.codec.prompt import Prompt
from inference.codec.scaled import ScaledCodec
from inference.snapshot import Direction, EventType, Snapshot
from inference.speculation.rounds import QTable
from inference.weights.registry import read_table
from tests.doubles.gjr_cases import snapshot_and_prompt
from tests.doubles.market_cases import news_at

MODELS = Path(__file__).parents[2] / "inference/models"
CODEC = ScaledCodec()
SEED = bytes(range(32))


@dataclass(frozen=True)
class Plan:
    """How much is sampled."""

    paths: int
    horizon: int


@cache
def table_of(pair: str) -> QTable:
    """Return a bundled pair's table; every state of pair_v1's has a row of its own."""
    return read_table((MODELS / pair / "table.safetensors").read_bytes())


@cache
def told() -> tuple[Snapshot, Prompt]:
    """Return the same snapshot with a fresh strong event, and its prompt."""
    quiet, _ = wordless()
    event = news_at(quiet.as_of_us, event_type=EventType.EARNINGS, direction=Direction.POSITIVE)
    snapshot = replace(quiet, news=(event,))
    return snapshot, CODEC.encode(snapshot)


@cache
def wordless() -> tuple[Snapshot, Prompt]:
    """Return the playback's first snapshot without its news, and its prompt."""
    snapshot = replace(snapshot_and_prompt()[0], news=())
    return snapshot, CODEC.encode(snapshot)
