"""A supervisor's twelve questions: every command of docs/supervisor.md, on a real gateway's ledger.

Only the model is scripted. The commands run as processes, one after the other.
"""

import json
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from gateway.clock import date_of
from gateway.evidence.answers.questions import QUESTIONS
from gateway.launch.paper.play import case_of, open_session
from gateway.launch.run import await_engine
from gateway.telemetry.console import Progress
from gateway.walk.journal.forecast import ForecastMade
from gateway.walk.projections.forecasts import decision_records
from tests.doubles.api_agent import Agent, agreement, ended, hold
from tests.doubles.live_desk import desk, sessions
from tests.doubles.programs import ROOT, verb
from tests.doubles.state_folder import state_folder

pytestmark = [pytest.mark.walk, pytest.mark.timeout(400)]
PAGE = ROOT / "docs" / "supervisor.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What happened at the gateway: names for the commands, and facts for the answers."""

    state: Path
    names: dict[str, str]
    facts: dict[str, tuple[str, ...]]


@pytest.fixture(scope="module")
def past() -> Iterator[Past]:
    """A gateway that decided, was refused, was approved by a person, and drilled its kill."""
    with state_folder(with_database=True) as folder:
        with desk(folder) as app:
            assert await_engine(app, Progress(sys.stderr), threading.Event())
            played = sessions(4)
            for session in played:
                open_session(app, session)
                app.desk.make(case_of(app, session))
            with Agent(app) as agent, Agent(app, "approver") as approver:
                held = hold(agent, "asked")
                yes = agreement(approver, app, held)
                address = f"/v1/decisions/{held}/approval"
                answer = approver.http.post(address, json=yes).json()
                assert answer["result"] == "approved", answer
                order = str(ended(app, held).cl_ord_id)
                refused = agent.intent("short", -2_000).json()
                assert refused["result"] == "rejected", refused
            with Agent(app, "operator") as operator:
                drill = {"reason": "monthly test"}
                assert operator.http.post("/v1/kill/drill", json=drill).status_code == 200
            records = decision_records(app.reader, held)
            made = next(one for one in records if one.kind is Kind.FORECAST_MADE)
            day = date_of(made.recorded_at_us)
            sheet = str(yes["sheet_digest"])
            rule = next(one["rule"] for one in refused["rules"] if one["action"] == "REJECT")
        names = {
            "LIMIT": "account.order_notional_max",
            "DAY": day,
            "ORDER": order,
            "DECISION": held,
            "INSTRUMENT": "NDXN",
            "TRADED": played[0].session_date.isoformat(),
        }
        facts: dict[str, tuple[str, ...]] = {
            "limit": ("is 40000000 minor", "head of risk", "risk", "leaf "),
            "rejected": (f"{refused['decision_id']}: REJECT by rules: rule {rule.split('.')[0]}",),
            "approval": (
                "approver approved",
                "his reason: read it",
                f"the sheet {sheet}",
                "the same",
            ),
            "model": (ForecastMade.of(made).model_digest, "self-test"),
            "words": ("with the news: expected move",),
            "changes": ("policy:", "for the first time", "model weights"),
            "kill": ("drill of", "monthly test", "ms after the press"),
            "orders": (f"{order}: buy", f"decision {held}", "filled"),
            "deleted": ("none is missing",),
            "reproduce": (held,),
            "fairness": ("on record as",),
            "access": ("role approver may read", "approve", "both officers"),
        }
        yield Past(state=folder, names=names, facts=facts)


def asked(past: Past, command: str) -> list[str]:
    """Return a command's words with the names put in."""
    return [past.names.get(word, word) for word in command.split()]


@pytest.mark.parametrize("key", [one.key for one in QUESTIONS])
def test_the_command_answers_with_the_fact(key: str, past: Past) -> None:
    (question,) = [one for one in QUESTIONS if one.key == key]
    assert f"countersign {question.command}\n" in PAGE.read_text()
    done = verb(past.state, *asked(past, question.command))
    assert done.returncode == 0, done.stdout + done.stderr
    for fact in past.facts[key]:
        assert fact in done.stdout, done.stdout


def test_every_record_that_an_answer_names_is_in_the_log_that_verifies(past: Past) -> None:
    leaves: dict[int, str] = {}
    for question in QUESTIONS:
        if not question.command.startswith("ask "):
            continue
        done = verb(past.state, *asked(past, question.command), "--json")
        document = json.loads(done.stdout)
        assert document["question"]
        leaves |= {one["seq"]: one["leaf"] for one in document["facts"] if "seq" in one}
    assert len(leaves) > 10
    dump = past.state / "ledger.dump"
    assert verb(past.state, "dump", str(dump)).returncode == 0
    key = past.state / "keys" / "ledger.key.pub"
    told = verb(past.state, "verify", "--dump", str(dump), "--key", str(key))
    assert told.returncode == 0, told.stdout
    rows = [json.loads(line) for line in dump.read_text().splitlines()]
    entries = (row for row in rows if row["type"] == "entry")
    held = {row["seq"]: b64decode(row["leaf"]).hex() for row in entries}
    assert leaves == {seq: held[seq] for seq in leaves}


def test_the_page_has_twelve_questions() -> None:
    assert len(QUESTIONS) == 12
    assert PAGE.read_text().count("\n## ") == 12
