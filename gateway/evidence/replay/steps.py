"""The loop of a replay: each record of a stream by the step of its kind."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from audit.errors import CanonicalError, DraftError
from audit.records.kinds import Kind
from audit.records.record import Record
from fix.errors import FixError
from gateway.errors import GatewayError, ReplayDiffersError
from inference.errors import InferenceError
from risk.errors import RiskError

_Past = TypeVar("_Past")

UNREADABLE: Final = (
    RiskError,
    InferenceError,
    FixError,
    GatewayError,
    CanonicalError,
    DraftError,
    LookupError,
    ArithmeticError,
    ValueError,
    TypeError,
    AttributeError,
)
"""What an altered value can raise; database errors are not among them."""


def stepped(
    past: _Past,
    records: Sequence[Record],
    steps: Mapping[Kind, Callable[[_Past, Record], str]],
) -> Iterator[tuple[Record, str]]:
    """Recompute a stream record by record; yield each with a remark.

    Raises:
        ReplayDiffersError: when a step differs, cannot be recomputed, or is none; names the first.
    """
    for number, record in enumerate(records):
        with step(record.kind.value):
            if record.stream_seq != number:
                raise ReplayDiffersError(
                    step=record.kind.value, detail="a record before it is missing"
                )
            again = steps.get(record.kind)
            if again is None:
                what = record.stream.partition("/")[0]
                raise ReplayDiffersError(step=record.kind.value, detail=f"no step of a {what}")
            remark = again(past, record)
        yield record, remark


@contextmanager
def step(name: str) -> Iterator[None]:
    """Turn what an altered value raises into `ReplayDiffersError`."""
    try:
        yield
    except ReplayDiffersError:
        raise
    except UNREADABLE as error:
        detail = f"cannot be recomputed: {type(error).__name__}: {str(error)[:200]}"
        raise ReplayDiffersError(step=name, detail=detail) from error
