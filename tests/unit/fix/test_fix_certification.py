"""The lines of a certification run chain; its report says what failed."""

import json
from pathlib import Path

import pytest

from fix.certification.cases import CaseOutcome, Tried
from fix.certification.evidence import SentLines
from fix.certification.report import document, line_of, page, passed
from fix.errors import CertifyError


def test_a_later_run_continues_the_lines_and_no_id_comes_twice(tmp_path: Path) -> None:
    path = tmp_path / "sent.jsonl"
    first = SentLines(path)
    names = [first.add("cancel", {"message": "F"}, 7) for _ in range(3)]
    again = SentLines(path)
    assert again.head == first.head
    names.append(again.add("cancel", {"message": "F"}, 7))
    assert len(set(names)) == len(names)


def test_a_line_that_a_crash_cut_off_goes(tmp_path: Path) -> None:
    path = tmp_path / "sent.jsonl"
    lines = SentLines(path)
    lines.add("cancel", {"message": "F"}, 7)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-5])
    assert SentLines(path).head == lines.head
    assert path.read_bytes() == whole


@pytest.mark.parametrize("damage", ["change", "drop", "garbage"])
def test_changed_lines_are_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "sent.jsonl"
    lines = SentLines(path)
    for at_us in range(3):
        lines.add("cancel", {"message": "F"}, at_us)
    kept = path.read_bytes().splitlines(keepends=True)
    match damage:
        case "change":
            kept[1] = kept[1].replace(b'"F"', b'"G"')
        case "drop":
            del kept[1]
        case _:
            kept[2] = b"[]\n"
    path.write_bytes(b"".join(kept))
    with pytest.raises(CertifyError, match=r"line [23] does not follow"):
        SentLines(path)


def tried(outcome: CaseOutcome) -> Tried:
    return Tried(
        name="fill",
        expected="39=2",
        outcome=outcome,
        reason="no <report> in 3 s",
        seen=("they: 35=8 58=<b>",),
    )


@pytest.mark.parametrize("outcome", CaseOutcome)
def test_a_report_passes_unless_a_case_failed(outcome: CaseOutcome) -> None:
    cases = [tried(CaseOutcome.PASS), tried(outcome)]
    told = json.loads(document({"broker": "here:1"}, cases))
    assert told["passed"] is passed(cases) is (outcome is not CaseOutcome.FAIL)
    assert [one["outcome"] for one in told["cases"]] == ["pass", outcome.value]
    assert "<report>" not in page({"broker": "here:1"}, cases)
    assert "<b>" not in page({}, cases)
    assert line_of(cases[1]).startswith(outcome.value)
