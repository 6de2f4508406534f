"""Statements about forecasts: what one rests on, and which one a decision names.

Not here: its seeds (`contents.seeds`), and how it follows from its inputs (a replay tells).
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from audit.verifier.parts.canonical import canonical, text_of
from audit.verifier.parts.contents.seeds import DIRECT, ENGINE, attempt_in
from audit.verifier.parts.contents.statements.attempts import FORECASTS, SeenAttempt
from audit.verifier.parts.contents.statements.seen import (
    Earlier,
    VerifiedRecord,
    is_given,
    mapping_of,
    same,
)
from audit.verifier.parts.contents.statements.verdicts import Findings

_ID_LETTERS = 26
_DRAW_RULE = "direct-1"
_TAIL, _WORDLESS = 12, [84, 91, 96] * 3
"""Tokens at the end of a prompt of numbers, and the first of them where no word acts."""


def forecast_name(inputs: Mapping[str, Any]) -> str:
    """Return the id of the forecast of some inputs: 130 bits of their digest in base32."""
    digest = hashlib.sha256(canonical(inputs)).digest()
    return base64.b32encode(digest).decode()[:_ID_LETTERS]


def judge_forecast(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what a forecast, or a decision that names one, says that other records do not."""
    match said.kind:
        case "forecast_taken":
            yield from _taken_faults(seen, said)
        case "intent_proposed":
            yield from _unfounded(seen, said)
        case _:
            yield from _attempt_faults(seen, said)


def _attempt_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what is wrong with a record of an attempt's stream."""
    stream, body = said.head["stream"], said.body
    named = attempt_in(stream)
    if named is None:
        yield "it is in no forecast's stream"
        return
    if "attempt" in body and not same(body["attempt"], named[1]):
        yield "its attempt is not that of its stream"
    own = seen.attempts.found.get(stream, SeenAttempt(gap=True))
    if said.kind == "snapshot_taken":
        yield from _opening_faults(seen, said, named)
    if own.gap:
        return
    if own.outcome != "":
        yield "its forecast is sealed before it"
    elif (own.inputs is None) != (said.kind == "snapshot_taken"):
        yield "its forecast does not begin with its inputs, once"
    elif own.inputs is not None:
        yield from _step_faults(own, own.inputs, said)


def _opening_faults(seen: Earlier, said: VerifiedRecord, named: tuple[str, int]) -> Findings:
    body, inputs, (forecast_id, number) = said.body, mapping_of(said.body.get("inputs")), named
    if body.get("forecast_id") != forecast_id:
        yield "it names another forecast than its stream"
    if forecast_name(inputs) != forecast_id:
        yield "its forecast_id is not that of its inputs"
    if not same(inputs.get("snapshot"), body.get("snapshot_blob")):
        yield "its snapshot_blob is not among its inputs"
    if not same(inputs.get("instrument"), body.get("instrument")):
        yield "its instrument is not among its inputs"
    if not number:
        return
    before = ended_attempt(seen, f"{FORECASTS}{forecast_id}.{number - 1}")
    if before is not None and not before.may_be_followed:
        yield "the attempt before it has no failure on record"
    elif before is None and seen.whole:
        yield "the attempt before it is not on record"


def ended_attempt(seen: Earlier, stream: str) -> SeenAttempt | None:
    """Return an attempt of which all is here; in a bundle its end too, which is asked for there."""
    found = seen.attempts.found.get(stream)
    if found is None or found.gap or found.inputs is None:
        return None
    return found if seen.whole or found.outcome != "" else None


def _step_faults(own: SeenAttempt, inputs: Mapping[str, Any], said: VerifiedRecord) -> Findings:
    """Yield what a record says of an attempt that the records before it do not."""
    body = said.body
    match said.kind:
        case "forecast_requested":
            yield from _request_faults(own, inputs, body)
            yield from _sampler_faults(body)
        case "rounds_captured" | "tokens_drawn":
            yield from _capture_faults(own, inputs, said)
        case "forecast_made":
            yield from _made_faults(own, inputs, mapping_of(body.get("forecast")))
        case "forecast_sealed":
            if not same(body.get("instrument"), inputs.get("instrument")):
                yield "its instrument is not that of the inputs"
            allowed = {"abandoned": own.made is None, "made": own.made is not None}
            allowed["failed"] = own.made is None and own.failed is not None
            if not allowed.get(text_of(body.get("outcome")), False):
                yield "its outcome does not follow from the records before it"
        case _:
            pass


def _request_faults(
    own: SeenAttempt, inputs: Mapping[str, Any], body: Mapping[str, Any]
) -> Findings:
    if own.requested:
        yield "its forecast was asked for before"
    if not same(body.get("prompt_digest"), inputs.get("prompt")):
        yield "its prompt is not among the inputs"
    if not same(body.get("codec_digest"), inputs.get("codec")):
        yield "its codec is not among the inputs"
    prompt = mapping_of(body.get("prompt"))
    if not same(prompt.get("token_ids"), body.get("prompt_ids")):
        yield "its prompt_ids are not those of its prompt"
    if not same(body.get("prompt_digest"), hashlib.sha256(canonical(prompt)).hexdigest()):
        yield "its prompt_digest is not that of its prompt"


def _sampler_faults(body: Mapping[str, Any]) -> Findings:
    """Yield what is wrong with who draws: a direct forecast has no drafts, seeds or words."""
    sampler = body.get("sampler")
    if sampler not in (ENGINE, DIRECT):
        yield "it has another sampler than the engine or direct draws"
    if sampler != DIRECT:
        return
    nothing = {"seeds_digest": "", "spec_k": 0, "drafter": "none", "news_twin": "no_news"}
    if any(not same(body.get(name), value) for name, value in nothing.items()):
        yield "it is drawn directly, and has drafts, seeds or a news twin"
    ids = body.get("prompt_ids")
    if not isinstance(ids, list) or not same(ids[-_TAIL:][: len(_WORDLESS)], _WORDLESS):
        yield "it is drawn directly, and words act in its prompt"


def _capture_faults(own: SeenAttempt, inputs: Mapping[str, Any], said: VerifiedRecord) -> Findings:
    """Yield what a capture's record says of the attempt that the records before it do not."""
    body, drawn = said.body, said.kind == "tokens_drawn"
    if own.captured:
        yield "its forecast was sampled before"
    if not same(own.sampler, DIRECT if drawn else ENGINE):
        yield "it is of another sampler than was asked for"
    if not drawn:
        return
    wanted = {
        "rule": _DRAW_RULE,
        "seed": own.seed.hex(),
        "table_digest": inputs.get("table"),
        "paths": own.paths,
        "n_tokens": own.n_tokens,
    }
    for name, value in wanted.items():
        if not same(body.get(name), value):
            yield f"its {name} is not that of the request"


def _made_faults(
    own: SeenAttempt, inputs: Mapping[str, Any], forecast: Mapping[str, Any]
) -> Findings:
    source = forecast.get("source")
    if not own.requested:
        yield "its forecast was not asked for"
    if own.made is not None:
        yield "its forecast was made before"
    if source == "table" and own.failed is None:
        yield "the table answers alone, and no failure is on record"
    if source not in ("table", "target"):
        yield "it has another source than target or table"
    if source == "target" and not own.captured:
        yield "nothing of what was sampled is on record before it"
    model = inputs.get("table" if source == "table" else "model")
    wanted = {"instrument": inputs.get("instrument"), "codec_digest": inputs.get("codec")}
    for name, value in (wanted | {"model_digest": model}).items():
        if not same(forecast.get(name), value):
            yield f"its {name} is not that of the inputs"


def _taken_faults(seen: Earlier, said: VerifiedRecord) -> Findings:
    """Yield what is wrong with the forecast, or with the failure, that a decision names."""
    body = said.body
    of_seq, missing = body.get("of_seq"), body.get("missing", "")
    forecast_id, number = body.get("forecast_id", ""), body.get("forecast_attempt", 0)
    if is_given(missing) == (of_seq is not None):
        yield "it must name either a forecast or why there is none"
        return
    if forecast_id == "" and is_given(missing):
        return  # nothing could be asked for
    stream = f"{FORECASTS}{text_of(forecast_id)}.{text_of(number)}"
    if attempt_in(stream) is None or type(number) is not int:
        yield "it names no attempt at a forecast"
        return
    if of_seq is not None and not (type(of_seq) is int and of_seq < said.seq):
        yield "its forecast is not before it"
    found = ended_attempt(seen, stream)
    if found is not None and found.inputs is not None:
        yield from _named_faults(found, found.inputs, body)
    elif seen.whole:
        yield "the attempt that it names is not on record before it"


def _named_faults(
    found: SeenAttempt, inputs: Mapping[str, Any], body: Mapping[str, Any]
) -> Findings:
    """Yield what a decision says of an attempt that the attempt's own records do not."""
    missing = body.get("missing", "")
    if not same(inputs.get("instrument"), body.get("instrument")):
        yield "its forecast is of another instrument"
    if is_given(missing):
        if found.outcome != "failed" or not same(found.failed, missing):
            yield "the attempt that it names did not fail so"
    elif found.outcome != "made" or found.made != (body.get("of_seq"), body.get("of_leaf")):
        yield "the record that it names is not the forecast that was made"


def _unfounded(seen: Earlier, said: VerifiedRecord) -> Iterator[str]:
    """Yield why an intent rests on no forecast of its instrument."""
    own, intent = seen.of(said), mapping_of(said.body.get("intent"))
    if own.gap:
        return
    if own.taken is None or own.taken["of_seq"] is None:
        yield "no forecast was taken before it"
    elif intent and not same(intent.get("instrument"), own.taken["instrument"]):
        yield "its forecast is of another instrument"
