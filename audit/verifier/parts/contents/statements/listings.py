"""Statements about the index of an instrument: every line, and which forecast a decision names.

Not here: the part of an index that a bundle has (`contents.standing`).
"""

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.statements.attempts import INDEXES
from audit.verifier.parts.contents.statements.seen import (
    Earlier,
    VerifiedRecord,
    differing,
    is_given,
    same,
)
from audit.verifier.parts.contents.statements.verdicts import Findings

PASSED_OVER = "a forecast that stood was passed over"


def judge_index(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what the index of an instrument says, or lacks, that other records do not."""
    indexes = seen.indexes
    beside = said.seq == indexes.last + 1
    wanted = indexes.awaited if beside or seen.whole else None
    if wanted is not None and not (beside and said.kind == "forecast_listed"):
        yield f"record {indexes.last} has no line of its index right after it"
    if said.kind == "forecast_taken" and seen.whole:
        yield from _passed_over(seen, said)
    if said.kind != "forecast_listed":
        return
    body, event = said.body, said.body.get("event")
    if said.head["stream"] != f"{INDEXES}{text_of(body.get('instrument'))}":
        yield "it is in the index of another instrument"
    if wanted is not None and beside:
        yield from differing(body, wanted, "that of the record before it")
    elif event == "again":
        yield from _again_faults(seen, said)
    elif (beside and not indexes.unread) or (seen.whole and not beside):
        yield "what it lists is not the record before it"


def _again_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield why a forecast does not stand again from here on."""
    body, own = said.body, seen.indexes.found.get(said.head["stream"])
    if own is None or own.gap:
        return
    name = text_of(body.get("forecast_id"))
    made = own.made.get(name)
    if made is None or not same(made, body.get("attempt")):
        yield "it names no forecast that was made before"
    if own.stands is not None and own.stands[0] == name:
        yield "the forecast that it names stood already"
    if not same(body.get("again"), own.again.get(name, 0) + 1):
        yield "its count is not the next one"


def _passed_over(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield that a decision names another forecast than the one that stood."""
    body = said.body
    if is_given(body.get("missing")) or body.get("of_seq") is None:
        return
    named = [body.get("forecast_id"), body.get("forecast_attempt", 0)]
    own = seen.indexes.found.get(f"{INDEXES}{text_of(body.get('instrument'))}")
    if own is None or own.stands is None:
        if own is None or not own.gap:
            yield "no forecast of its instrument stood"
    elif not own.gap and not same([*own.stands], named):
        yield PASSED_OVER
