"""The tests of fairness over a real ledger: on record through the gateway or without one."""

import json
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.errors import RequestError
from gateway.evidence.fairness.gathering import WINDOW_KINDS, gathered
from gateway.installation.place import attached
from gateway.installation.settings import load
from gateway.launch.commands.oversight.fairness import check_run, run_window
from gateway.launch.paper.play import case_of, open_session
from tests.doubles.live_desk import desk, sessions

pytestmark = [pytest.mark.postgres, pytest.mark.broker, pytest.mark.timeout(240)]


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
