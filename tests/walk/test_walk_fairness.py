"""The tests of fairness over a real ledger: on record through the gateway or without one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from audit.records.kinds import Kind
from audit.verifier.verify import OK, TAMPERED
from gateway.errors import RequestError
from gateway.evidence.fairness.gathering import WINDOW_KINDS, gathered
from gateway.installation.keys.rotation import open_ledger, stopped
from gateway.installation.place import attached
from gateway.installation.settings import Settings, load
from gateway.launch.commands.oversight.fairness import check_run, run_window
from gateway.launch.paper.play import case_of, open_session
from gateway.walk.journal.control.fairness import FairnessTested, fairness_tested
from tests.doubles.live_desk import desk, sessions
from tests.doubles.programs import ROOT, verb

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]
VERIFIER = ROOT / "audit" / "verifier" / "verify.py"


def test_a_window_is_tested_recorded_and_computed_again(
    walk_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(state=walk_state)
    with desk(walk_state) as app:
        played = sessions(4)
        for session in played:
            open_session(app, session)
            app.desk.make(case_of(app, session))
        days = sorted({one.session_date.isoformat() for one in played})
        with pytest.raises(RequestError, match="no intent was judged"):
            run_window(settings, ("1999-01-01", "1999-01-02"), as_json=False)
        capsys.readouterr()
        assert run_window(settings, (days[0], days[-1]), as_json=True) == 0
        told = json.loads(capsys.readouterr().out)
        assert check_run(settings, told["seq"]) == 0
        assert "follows from the records" in capsys.readouterr().out
        with pytest.raises(RequestError, match="no run of the tests"):
            check_run(settings, 0)
        size = app.reader.head().size
    assert 0 < told["cases"] <= 4
    assert told["size"] < size
    assert {row["finding"] for row in told["results"]} <= {"insufficient", "does not apply"}

    assert run_window(settings, (days[0], days[0]), as_json=False) == 0
    assert "on record as" in capsys.readouterr().out
    with attached(settings) as place:
        first, second = place.reader.records(kinds=(Kind.FAIRNESS_TESTED,))
        again = gathered(
            place.reader.records(kinds=WINDOW_KINDS, before_seq=told["size"]), days[0], days[-1]
        )
    assert (first.seq, again.size) == (told["seq"], told["size"])
    assert check_run(settings, second.seq) == 0


def lie(settings: Settings, **changed: object) -> int:
    """Put a run on record that does not follow from the records; return its number."""
    with attached(settings) as place:
        (record,) = place.reader.records(kinds=(Kind.FAIRNESS_TESTED,), limit=1)
    said = replace(FairnessTested.of(record), **changed)
    with stopped(settings) as place, open_ledger(place) as ledger:
        (lying,) = ledger.append(fairness_tested(said))
        ledger.checkpoint_now()
    return lying.seq


def test_an_outsider_repeats_a_run_and_finds_every_lie(walk_state: Path, tmp_path: Path) -> None:
    settings = load(state=walk_state)
    with desk(walk_state) as app:
        played = sessions(4)
        for session in played:
            open_session(app, session)
            app.desk.make(case_of(app, session))
        days = sorted({one.session_date.isoformat() for one in played})
        assert run_window(settings, (days[0], days[-1]), as_json=False) == 0
    dump = tmp_path / "ledger.dump"

    def judged() -> tuple[int, str]:
        assert verb(walk_state, "dump", str(dump)).returncode == 0
        key = str(walk_state / "keys" / "ledger.key.pub")
        command = [sys.executable, "-I", str(VERIFIER), str(dump), "--key", key]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        dump.unlink()
        return done.returncode, done.stdout

    code, told = judged()
    assert code == OK, told
    assert "1 of 1 runs of the tests of fairness" in told

    with attached(settings) as place:
        (record,) = place.reader.records(kinds=(Kind.FAIRNESS_TESTED,), limit=1)
    honest = FairnessTested.of(record)
    rows = list(honest.results)
    altered = {**rows[0], "cases": rows[0]["cases"] + 1}
    lies = {
        lie(settings, results=(altered, *rows[1:])): "row 1",
        lie(settings, results=tuple(rows[1:])): "differs in",
        lie(settings, root="0" * 64): "its root is not the log's",
        # without its last record a case may rest on the one before: then only the root tells
        lie(settings, size=honest.size - 1): "the records have|its root is not the log's",
        lie(settings, deals=2**50): "100000 are possible",
        lie(settings, cases=honest.cases - 1): "the records have",
        lie(settings, first_day="1999-01-01", last_day="1999-01-02"): "the records have 0",
    }
    code, told = judged()
    assert code == TAMPERED
    assert f"1 of {1 + len(lies)} runs" in told
    for seq, text in lies.items():
        (line, *_) = [
            one for one in told.splitlines() if one.startswith(f"TAMPERED: record {seq}:")
        ]
        assert re.search(text, line), line
