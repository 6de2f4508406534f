"""Golden evidence: fixed once, for ever; the Python verifier judges it as its manifest says."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.verifier import verify
from tests.doubles.evidence_collection import FOLDER, KEPT
from tests.doubles.evidence_edits import TABLE, put_together, table, told_apart
from tests.doubles.evidence_vectors import collection

OPTIONS = frozenset(
    f"--{name}"
    for name in "key policy checkpoint consistency rotation disclosure header payload".split()  # noqa: SIM905 - as they are typed
)


def test_the_evidence_keeps_its_bytes(
    golden: Callable[[str, bytes], None], request: pytest.FixtureRequest
) -> None:
    files = collection().files
    bases, edits = told_apart(files)
    kept = bases | {TABLE: table(edits)}
    if request.config.getoption("--rewrite-golden"):
        for path in sorted(KEPT.rglob("*")):
            if path.is_file() and str(path.relative_to(KEPT)) not in kept:
                path.unlink()
    for name, data in kept.items():
        golden(f"evidence/{name}", data)
    assert dict(put_together(KEPT)) == files


def questions() -> list[dict[str, object]]:
    path = FOLDER / "manifest.json"
    return json.loads(path.read_bytes()) if path.is_file() else []


@pytest.mark.parametrize("question", questions(), ids=lambda q: f"{q['file']} {q['why']}"[:90])
def test_each_question_ends_as_the_manifest_says(
    question: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER)
    arguments = question["arguments"]
    assert isinstance(arguments, list)
    assert OPTIONS.issuperset(arguments[::2])
    code = verify.main([str(question["file"]), *arguments])
    said = capsys.readouterr().out
    assert code == question["exit"], said
    word, _, reason = said.splitlines()[-1].partition(": ")
    assert word == verify.WORDS[code]
    assert reason


def test_the_manifest_asks_for_every_code_of_every_sort_of_file() -> None:
    asked = {(Path(str(q["file"])).suffix, q["exit"]) for q in questions()}
    for suffix in (".tlog-proof", ".note", ".receipt", ".zip", ".jsonl"):
        assert {(suffix, code) for code in range(4)} <= asked, suffix
