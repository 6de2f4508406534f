"""What would have passed instead of a recorded intent: the minimal edit, from a replay.

The decision is replayed first, so the state is the one that the verdict rested on, byte for byte.
"""

import json
import sys

from audit.records.kinds import Kind
from gateway.desk.intake.passing import would_pass
from gateway.errors import RequestError
from gateway.evidence.replay.intent import case_of_verdict
from gateway.evidence.replay.pairs import Pairs, text_codec_of
from gateway.evidence.replay.replay import replayed
from gateway.installation.place import Place
from gateway.walk.projections.forecasts import decision_records
from inference.weights.registry import load_table


def print_would_pass(place: Place, decision_id: str) -> int:
    """Print the minimal edit of each verdict of a decision, one JSON object a line.

    Raises:
        ReplayDiffersError: when the decision does not replay.
        RequestError: no rule judged it.
    """
    pair = Pairs(place.settings.engine.model).of(decision_records(place.reader, decision_id))
    table, text = load_table(pair), text_codec_of(pair)
    found = 0
    for past, record, _ in replayed(place.reader, table, decision_id, text):
        if record.kind is not Kind.VERDICT_GIVEN:
            continue
        state, intent = case_of_verdict(past, record)
        edit = would_pass(past.policy, state, intent, openly=True)
        body = None if edit is None else edit.model_dump(mode="json")
        wanted = {"qty_lots": intent.qty_lots, "limit_ticks": intent.limit_ticks}
        line = {"verdict_seq": record.seq, "wanted": wanted, "would_pass": body}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        found += 1
    if not found:
        raise RequestError(problem=f"no rule judged decision {decision_id}")
    return 0
