"""The verb fairness: run the tests over a window, put the run on record, or check one.

A run goes on record through the running gateway, or, while none runs, into the ledger itself.
"""

import json
import sys
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from gateway.desk.officers.oversight.criteria import criteria_on
from gateway.desk.officers.oversight.fairness import recorded_runs
from gateway.errors import RequestError
from gateway.evidence.fairness.report import differing, report_text, root_by, run_tests
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.rotation import held_against_key, open_ledger, stopped
from gateway.installation.local.client import post
from gateway.installation.place import attached
from gateway.installation.settings import Settings
from gateway.installation.state import StateFolder
from gateway.walk.journal.control.fairness import FairnessTested, fairness_tested

WITHIN_S: Final = 10.0
OPERATOR: Final = "operator"
DIFFERS: Final = 1


def run_window(settings: Settings, days: tuple[str, str], *, as_json: bool) -> int:
    """Run every test over the days, put the run on record and print it; return 0.

    Raises:
        RequestError: a day is not a date, or no intent was judged in the window.
        NoLedgerError: there is no ledger.
    """
    with attached(settings) as place, held_against_key(place) as reader:
        criteria = criteria_on(reader, days[1])
        run = run_tests(reader, root_by(reader.tiles.reader), days, criteria=criteria)
    seq = _recorded(settings, run)
    if as_json:
        sys.stdout.write(json.dumps({"seq": seq, **run.document()}, indent=2) + "\n")
    else:
        sys.stdout.write(f"{report_text(run)}on record as {seq}\n")
    return 0


def check_run(settings: Settings, seq: int) -> int:
    """Run a recorded run's tests again from the records alone; return 1 if anything differs.

    Raises:
        RequestError: the record is no run.
        NoLedgerError: there is no ledger.
    """
    with attached(settings) as place, held_against_key(place) as reader:
        run = dict(recorded_runs(reader)).get(seq)
        if run is None:
            raise RequestError(problem=f"record {seq} is no run of the tests of fairness")
        differs = differing(run, reader, root_by(reader.tiles.reader))
    said = f"differs in {', '.join(differs)}" if differs else "follows from the records"
    sys.stdout.write(f"run {seq}, {run.first_day} to {run.last_day}: {said}\n")
    return DIFFERS if differs else 0


def _recorded(settings: Settings, run: FairnessTested) -> int:
    state = StateFolder.of(settings)
    said = {name: value for name, value in run.document().items() if name != "actor_name"}
    try:
        token = Keyring(state.keys).token(OPERATOR)
        return int(post(state, "/v1/fairness", json.dumps(said), token, WITHIN_S).granted()["seq"])
    except ConnectionRefusedError:
        with stopped(settings) as place, open_ledger(place) as ledger:
            (record,) = ledger.append(fairness_tested(replace(run, actor_name=OPERATOR)))
            ledger.checkpoint_now()
        return record.seq


def swaps_recorder(settings: Settings, name: str) -> Callable[[dict[str, Any]], int]:
    """Return what records a run of swaps through the running gateway, under a person's key.

    Raises:
        RequestError: no gateway runs, or it refused the run.
    """
    state = StateFolder.of(settings)
    token = Keyring(state.keys).token(name)

    def record(report: dict[str, Any]) -> int:
        try:
            done = post(state, "/v1/fairness/swaps", json.dumps(report), token, WITHIN_S).granted()
        except ConnectionRefusedError:
            raise RequestError(
                problem="no gateway runs: start it, which names the lexicon in force, and repeat"
            ) from None
        return int(done["seq"])

    return record
