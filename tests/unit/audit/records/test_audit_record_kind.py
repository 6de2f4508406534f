"""One class is a kind: its fields, its place, its drafts and what is read back."""

from typing import Any

import pytest
from msgspec import field

from audit.records.kinds import RUN, Kind, StreamClass
from audit.records.record import prepare
from audit.records.record_kind import Contents, Filing, RecordKind, kind_name, spec_of


class Inner(Contents, frozen=True, kw_only=True):
    word: str = ""


class CaseNoted(RecordKind, frozen=True, kw_only=True):
    """A kind in a stream of its own, with every sort of field."""

    filing = Filing("case/{case_id}", "note:{number}", "person:{actor_name}")

    case_id: str
    text: str
    actor_name: str
    inner: Inner = Inner()
    about: tuple[int, ...] = ()
    later: str = field(name="since", default="")


class StopBegun(RecordKind, frozen=True, kw_only=True):
    filing = Filing("control", "stop:{stop_id}", tags=RUN, firm_wide=True)

    stop_id: str


NOTE = CaseNoted(case_id="c", text="seen", actor_name="otto")


def test_a_draft_has_its_place_filled_in() -> None:
    draft = NOTE.draft(number=7)
    assert (draft.stream, draft.kind) == ("case/c", Kind.CASE_NOTED)
    assert (draft.actor, draft.idem_key) == ("person:otto", "note:7")
    assert draft.payload == {"case_id": "c", "text": "seen", "actor_name": "otto"}
    other = NOTE.draft(stream="case/d", actor="fix", key="k", tags={"mode": "paper"})
    assert (other.stream, other.actor, other.idem_key) == ("case/d", "fix", "k")
    assert other.payload == {"mode": "paper", **draft.payload}
    assert prepare(draft).draft is draft


def test_a_key_without_its_word_is_an_error() -> None:
    with pytest.raises(KeyError, match="number"):
        NOTE.draft()


def test_what_is_written_is_read_back() -> None:
    whole = CaseNoted(
        case_id="c",
        text="t",
        actor_name="o",
        inner=Inner(word="w"),
        about=(1, 2),
        later="now",
    )
    payload = whole.document()
    assert payload["about"] == [1, 2], "as JSON has it"
    assert payload["inner"] == {"word": "w"}
    assert payload["since"] == "now"
    assert CaseNoted.read(payload) == whole
    assert CaseNoted.read(NOTE.document()) == NOTE, "a field that is left out has its default"
    assert CaseNoted.read({**payload, "of_later": 1}) == whole, "of a later version"
    for wrong in ({"case_id": "c"}, {**payload, "text": 1}):
        with pytest.raises(ValueError, match="`"):
            CaseNoted.read(wrong)


def test_a_class_refuses_fields_that_it_does_not_have() -> None:
    wrong: Any = {"other": 1}
    with pytest.raises(TypeError, match="other"):
        CaseNoted(case_id="c", text="t", actor_name="o", **wrong)


def test_a_class_is_a_row_of_the_table() -> None:
    assert kind_name(CaseNoted) == "case_noted"
    row = spec_of(CaseNoted)
    assert (row.kind, row.stream) == (Kind.CASE_NOTED, StreamClass.CASE)
    assert row.fields == {"case_id", "text", "actor_name"}
    assert {"since", "inner", "about", "detail"} <= row.optional
    assert not row.section
    stop = spec_of(StopBegun)
    assert stop.fields == {"stop_id", "account", "run_id", "mode", "dev"}
    assert stop.firm_wide
    assert stop.section


class StopEnded(RecordKind, frozen=True, kw_only=True):
    filing = Filing("control", "end:{stop_id}", loose="by", early="reason count names")

    stop_id: str
    by: str
    reason: str
    count: int
    names: tuple[str, ...]


def test_what_early_records_lack_is_read_as_empty_and_is_in_every_new_one() -> None:
    early = StopEnded.read({"stop_id": "s", "by": "ada"})
    assert early == StopEnded(stop_id="s", by="ada", reason="", count=0, names=())
    assert set(early.document()) == {"stop_id", "by", "reason", "count", "names"}
    assert not spec_of(StopEnded).fields & {"by", "reason", "count", "names"}
    with pytest.raises(ValueError, match="by"):
        StopEnded.read({"stop_id": "s"})
