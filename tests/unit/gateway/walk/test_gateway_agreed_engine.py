"""Nothing is sampled before it is on record on which build and model the processes agree."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from audit.records.kinds import Kind
from gateway.walk.journal.run import ENGINE, processes_agreed
from gateway.walk.ports import LedgerPort, Tags
from gateway.walk.sampled.agreed import AgreedEngine
from inference.engine.port import Engine
from inference.errors import (
    EngineDeadError,
    EngineError,
    EngineFailedError,
    EngineRefusedError,
)
from tests.doubles.reference_sampler import request_of

TAGS = Tags(account="a", run_id="r", mode="paper", dev=True)
OWN = {"build": "b" * 64, "model": "m" * 64}


class Wire:
    """A ledger and an engine that note the order in which they are asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.agreed: Mapping[str, str] = OWN
        self.full = False
        self.refusal = ""
        self.down = False
        self.engine = AgreedEngine(
            cast("Engine", self),
            lambda: self.agreed,
            cast("LedgerPort", self),
            lambda agreed: processes_agreed(TAGS, ENGINE, agreed),
            lambda: self.refusal,
        )

    def append(self, draft: Any) -> None:  # noqa: ANN401 - a draft
        if self.full:
            raise OSError("the ledger takes nothing")
        self.asked.append((draft.kind, draft.payload["process"], draft.payload["agreed"]))

    def describe(self) -> None:
        if self.down:
            raise EngineFailedError("the engine died too often")

    def sample(self, request: Any) -> None:  # noqa: ANN401 - any request
        self.agreed = OWN  # the child is ready just before it is asked
        self.asked.append(request.request_id)

    def sample_beside(self, request: Any, twin: Any) -> None:  # noqa: ANN401 - as above
        self.agreed = OWN
        self.asked.append((request.request_id, twin))


def test_the_agreement_is_recorded_once_before_the_first_sample() -> None:
    wire, request = Wire(), request_of()
    for _ in range(2):
        wire.engine.sample_beside(request, request)
        wire.engine.sample(request)
    record, *samples = wire.asked
    assert record == (Kind.PROCESSES_AGREED, "engine", OWN)
    assert samples == [(request.request_id, request), request.request_id] * 2


@pytest.mark.parametrize("ask", ["sample", "sample_beside"])
def test_what_cannot_be_recorded_is_not_sampled(ask: str) -> None:
    wire, request = Wire(), request_of()
    wire.full = True
    both = (request, request) if ask == "sample_beside" else (request,)
    with pytest.raises(OSError, match="takes nothing"):
        getattr(wire.engine, ask)(*both)
    assert wire.asked == []


@pytest.mark.parametrize("ask", ["sample", "sample_beside"])
@pytest.mark.parametrize(
    ("refusal", "down", "error", "says"),
    [
        ("", False, EngineDeadError, "agreed on build and model yet"),
        ("", True, EngineFailedError, "died too often"),
        ("self-test: bad", False, EngineRefusedError, "self-test: bad"),
    ],
)
def test_nothing_is_sampled_while_nothing_is_agreed_on(
    ask: str, refusal: str, error: type[EngineError], says: str, *, down: bool
) -> None:
    wire, request = Wire(), request_of()
    wire.agreed, wire.refusal, wire.down = {}, refusal, down
    both = (request, request) if ask == "sample_beside" else (request,)
    with pytest.raises(error, match=says):
        getattr(wire.engine, ask)(*both)
    assert wire.asked == []


def test_a_child_that_agreed_on_nothing_leaves_no_record() -> None:
    wire = Wire()
    wire.agreed = {}
    assert not wire.engine.record()
    assert wire.asked == []
