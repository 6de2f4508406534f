"""A supervisor's twelve questions, each with the one command that answers it.

`make docs` writes `docs/supervisor.md` from this table; a test runs every command against the
ledger of a real gateway and looks for the fact.

Not here: how an answer is found (`governance`, `trades`, `days`).
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorQuestion:
    """One question.

    Attributes:
        command: after `countersign`; words in capitals stand for a name, a day or a file.
        answer: what it answers with.
        proof: how the asker makes sure without believing the answer.
        page: the page of the web UI that shows it, or the empty text.
    """

    key: str
    asked: str
    command: str
    answer: str
    proof: str
    page: str = ""


QUESTIONS: Final = (
    SupervisorQuestion(
        key="limit",
        asked="Who set this limit, and why?",
        command="ask limit LIMIT",
        answer="Each value that the limit had: number, owner, reason, the signers of its policy.",
        proof="The record of each policy holds the whole text and both signatures.",
    ),
    SupervisorQuestion(
        key="rejected",
        asked="What was rejected on a day, and by which rule?",
        command="ask rejected DAY",
        answer="Every refusal and hold: decision, action, rule, reason.",
        proof="`countersign replay DECISION` judges the intent again.",
        page="/flow",
    ),
    SupervisorQuestion(
        key="approval",
        asked="Who approved this order, and what did he see?",
        command="ask approval ORDER",
        answer="Approver, his reason, the record of his reading, the digest of what he was shown.",
        proof="The sheet is made again from the records and must have the digest that he named.",
        page="/decisions/DECISION",
    ),
    SupervisorQuestion(
        key="model",
        asked="Which model and weights made this forecast?",
        command="ask model DECISION",
        answer="The digest of the weights, and the record of their loading and self-test.",
        proof="`countersign replay DECISION` computes the forecast again from those weights.",
        page="/decisions/DECISION",
    ),
    SupervisorQuestion(
        key="words",
        asked="What did words change?",
        command="ask words DECISION",
        answer="The forecast beside its twin: same model, same seeds, the news blanked.",
        proof="`countersign replay DECISION` computes both again.",
        page="/decisions/DECISION",
    ),
    SupervisorQuestion(
        key="changes",
        asked="What changed in policy or model since a date?",
        command="ask changes DAY",
        answer="Policies (each number and each entry of a list that differs), weights, mode,"
        " officers' and log's keys, scopes, registered digests, criteria, justifications.",
        proof="Each line names its record.",
    ),
    SupervisorQuestion(
        key="kill",
        asked="When was the kill last tested, and how fast was it?",
        command="ask kill-test",
        answer="The newest drill or press: how soon the kill word was durable and the FIX process"
        " had confirmed.",
        proof="The record has the monotonic times; `countersign kill-report` has a press's.",
    ),
    SupervisorQuestion(
        key="orders",
        asked="Which orders of an instrument were sent in a range of days?",
        command="ask orders INSTRUMENT --from DAY --to DAY",
        answer="Every order: ClOrdID, side, quantity, price, what became of it, its decision.",
        proof="`countersign verify --key KEY --broker-fills FILE` holds them against the broker's"
        " own file.",
        page="/orders",
    ),
    SupervisorQuestion(
        key="deleted",
        asked="Was anything deleted?",
        command="ask deleted",
        answer="Whether a record is missing, and every erasure, restore and disavowal.",
        proof="`countersign verify --key KEY --checkpoint KEPT`: a removed record breaks the tree.",
        page="/ledger",
    ),
    SupervisorQuestion(
        key="reproduce",
        asked="Reproduce this decision.",
        command="replay DECISION",
        answer="Each step computed again from the records and the weights, or what differs.",
        proof="Run it on a machine of your own, with a dump and the weights.",
    ),
    SupervisorQuestion(
        key="fairness",
        asked="Was anyone treated unfairly?",
        command="fairness --from TRADED --to TRADED",
        answer="Every test of the window by region, sector, side, agent and client, also those that"
        " found nothing or could not apply, and why.",
        proof="`countersign fairness --check SEQ`: the seed is the log's root, so anybody computes"
        " the same.",
        page="/fairness",
    ),
    SupervisorQuestion(
        key="access",
        asked="Who may do what?",
        command="ask access",
        answer="What each role may do, and each agent's scope on record.",
        proof="[access.md](access.md), route by route: a test asks every route with every key.",
    ),
)


def supervisor_page() -> str:
    """Return docs/supervisor.md."""
    lines = [
        "# Twelve questions of a supervisor",
        "",
        "Written by `make docs` from `gateway/evidence/answers/questions.py`; do not edit. A test",
        "runs every command against the ledger of a real gateway and looks for the fact.",
        "",
        "Words in capitals stand for a name, a day (UTC, 2026-11-20) or a file; a window of",
        "fairness is of trading days. Each line of an answer names the record that it rests on,",
        "with its time and leaf. `countersign prove SEQ` writes the proof of a record, which",
        "anybody checks offline with `verify.py` or `verify.mjs` and the log's public key.",
        "`--json` has the same for scripts. The commands read the database as it is;",
        "`countersign verify --key KEY` shows that it is what was signed.",
    ]
    for number, one in enumerate(QUESTIONS, 1):
        lines += [
            "",
            f"## {number}. {one.asked}",
            "",
            "```",
            f"countersign {one.command}",
            "```",
            "",
        ]
        lines += [one.answer, "", f"Proof: {one.proof}"]
        lines += ["", f"Page: `{one.page}`"] if one.page else []
    return "\n".join([*lines, ""])
