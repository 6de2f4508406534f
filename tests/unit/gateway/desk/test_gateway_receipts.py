"""A receipt holds for the answer that was given, and for no other."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentResponse, WordsEffect
from gateway.desk.desk import Desk
from gateway.desk.intake.receipts import Receipts
from gateway.evidence.publication.receipts import (
    GOOD,
    INCOMPLETE,
    NOT_CHECKABLE,
    TAMPERED,
    check_file,
)
from tests.doubles.memory_desk import MemoryDesk, memory_desk

ORIGIN = "receipts.test"


@pytest.fixture
def desk(tmp_path: Path) -> MemoryDesk:
    made = memory_desk(tmp_path)
    own = made.small.desk.own
    signing = Receipts(own.tools.ledger, ORIGIN, "run")
    made.small.desk.own = replace(own, receipts=signing)
    return made


def checked(desk: MemoryDesk, folder: Path, answer: object, origin: str = ORIGIN) -> int:
    file = folder / "answer.json"
    file.write_text(answer if isinstance(answer, str) else json.dumps(answer))
    code, said = check_file(cast("LedgerReader", desk.log), origin, file)
    assert str(file) in said
    return code


def asked(desk: MemoryDesk) -> dict[str, Any]:
    return json.loads(desk.ask().model_dump_json())  # type: ignore[no-any-return]


def test_a_receipt_holds_and_its_key_was_on_record_first(desk: MemoryDesk, tmp_path: Path) -> None:
    answer = asked(desk)
    (key,) = desk.log.of_kind(Kind.RECEIPT_KEY)
    assert key.seq == answer["signed"]["key_seq"]
    assert checked(desk, tmp_path, answer) == GOOD
    assert answer["as_of_seq"] == desk.log.size - 2, "the order was sent; the key came after it"


def test_the_same_answer_has_the_same_receipt_and_the_key_is_announced_once(
    desk: MemoryDesk,
) -> None:
    own = desk.small.desk.own.receipts
    assert own is not None
    assert own.announce() == own.announce()
    assert desk.ask(key="again", lots=1) == desk.ask(key="again", lots=0)


@pytest.mark.parametrize(
    "alter",
    [
        lambda a: a.update(result="rejected"),
        lambda a: a.update(cl_ord_id=None),
        lambda a: a.update(more=1),
        lambda a: a.update(as_of_seq=0),
        lambda a: a.pop("reason"),
        lambda a: a["rules"].pop(),
        lambda a: a.update(verdict=0.5),
        lambda a: a["signed"].update(key_seq=0),
        lambda a: a["signed"].update(log="other.test"),
        lambda a: a["signed"].update(signature="0" * 128),
        lambda a: a["signed"].update(key="1" * 64),
    ],
)
def test_an_altered_answer_is_named(
    desk: MemoryDesk, tmp_path: Path, alter: Callable[[dict[str, Any]], object]
) -> None:
    answer = asked(desk)
    alter(answer)
    assert checked(desk, tmp_path, answer) == TAMPERED


def _leaves(value: Any, *at: str | int) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401 - JSON
    """Yield the place of everything that an answer says, `signed` left out."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            if (*at, name) != ("signed",):
                yield from _leaves(inner, *at, name)
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, *at, number)
    else:
        yield at


def test_a_receipt_signs_everything_that_an_answer_says(desk: MemoryDesk, tmp_path: Path) -> None:
    """Each word of the answer altered alone, what news did and what would pass among them."""
    words = WordsEffect(result="missing", reason="no engine")
    refused = desk.ask(1_000_000, exposure_bp=90_000)
    assert refused.would_pass is not None
    signing = desk.small.desk.own.receipts
    assert signing is not None
    answer = signing.signed(refused.model_copy(update={"words": words, "signed": None}))
    whole = json.loads(answer.model_dump_json())
    assert checked(desk, tmp_path, whole) == GOOD
    told = set(IntentResponse.model_fields) - {"signed"}
    places = list(_leaves(whole))
    assert {place[0] for place in places} == told
    for place in places:
        altered = json.loads(json.dumps(whole))
        inner: Any = altered
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = "altered"
        assert checked(desk, tmp_path, altered) == TAMPERED, place
    for name in told:
        assert checked(desk, tmp_path, {k: v for k, v in whole.items() if k != name}) == TAMPERED


def test_what_is_no_receipt_of_this_log_is_not_checkable(desk: MemoryDesk, tmp_path: Path) -> None:
    answer = asked(desk)
    assert checked(desk, tmp_path, answer, origin="other.test") == NOT_CHECKABLE
    for other in ("", "{", "[]", "{}", '{"signed": {}}', '{"signed": 1}', "[" * 100_000):
        assert checked(desk, tmp_path, other) == NOT_CHECKABLE


def test_a_key_that_another_record_has_is_no_key(desk: MemoryDesk, tmp_path: Path) -> None:
    """A signature by anybody's own key, which names a record that announces another one."""
    answer = asked(desk)
    thief = Receipts(desk.small.desk.own.tools.ledger, ORIGIN, "run", _seq=answer["as_of_seq"])
    forged = thief.signed(desk.ask(lots=60).model_copy(update={"signed": None}))
    assert checked(desk, tmp_path, forged.model_dump_json()) == TAMPERED


def test_a_ledger_without_the_record_is_incomplete(desk: MemoryDesk, tmp_path: Path) -> None:
    answer = asked(desk)
    lost = memory_desk(tmp_path / "other")
    assert checked(lost, tmp_path, answer) == INCOMPLETE


def test_a_receipt_that_rests_on_a_disavowed_record_names_the_disavowal(
    desk: MemoryDesk, tmp_path: Path
) -> None:
    answer = asked(desk)
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(answer))
    for seq in (answer["signed"]["key_seq"], answer["record_seq"]):
        desk.log.disavowed = {seq}
        code, said = check_file(cast("LedgerReader", desk.log), ORIGIN, file)
        assert (code, f"record {seq}, on which it rests, is disavowed by record" in said) == (
            1,
            True,
        )


def test_no_receipt_is_signed_before_its_key_is_on_record(desk: MemoryDesk) -> None:
    desk.log.refuses = LedgerTimeoutError("away", written=False)
    own = desk.small.desk.own
    fresh = Desk(own=replace(own, receipts=Receipts(own.tools.ledger, ORIGIN, "run")))
    assert fresh.own.receipts is not None
    with pytest.raises(LedgerTimeoutError):
        fresh.own.receipts.announce()
