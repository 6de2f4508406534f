"""Logs that somebody with the log's key wrote again, one statement broken in each.

A forgery changes the drafts of one scene. `FORGED` has, for each statement, at least one forgery
that both verifiers must find, with the record named.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

from audit.records.kinds import KINDS, Kind
from audit.records.record import Draft
from gateway.installation.keys.keyring import SIGNING_ROLES
from tests.doubles.both_verifiers import Change, told

Body = dict[str, Any]
_SIGNED_KINDS = tuple(kind for kind, spec in KINDS.items() if spec.signed)


class Forgery(NamedTuple):
    """A change of a scene's drafts that breaks a statement."""

    statement: str
    name: str
    scene: str
    changes: tuple[Change, ...]


def _tag(tag: int, value: str) -> Change:
    def change(fields: list[list[Any]]) -> list[list[Any]]:
        return [[one, value if one == tag else text] for one, text in fields]

    return told(Kind.ORDER_SENDING, fields=change)


def _more(tag: int, value: str, *, first: bool) -> Change:
    def change(fields: list[list[Any]]) -> list[list[Any]]:
        return [[tag, value], *fields] if first else [*fields, [tag, value]]

    return told(Kind.ORDER_SENDING, fields=change)


def _with(**changes: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - any field
    return lambda value: {**value, **changes} if isinstance(value, dict) else value


def _another(value: Any) -> Any:  # noqa: ANN401 - any field
    """Return another value of the same form; signatures are of the right form, and nobody's."""
    match value:
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case _:
            return {name: "0" * 128 if name in SIGNING_ROLES else 1 for name in value}


def _results(keep: Callable[[Body], bool]) -> Change:
    def change(verdict: Body) -> Body:
        rows = [one for one in verdict["results"] if keep(one)]
        return {**verdict, "results": rows}

    return told(Kind.VERDICT_GIVEN, verdict=change)


def _result(rule: str, **changes: Any) -> Change:  # noqa: ANN401 - any field
    def change(verdict: Body) -> Body:
        rows = [{**one, **changes} if one["rule_id"] == rule else one for one in verdict["results"]]
        return {**verdict, "results": rows}

    return told(Kind.VERDICT_GIVEN, verdict=change)


def _made(**changes: Any) -> Change:  # noqa: ANN401 - any field
    return told(Kind.FORECAST_MADE, forecast=_with(**changes))


def _second_attempt(draft: Draft) -> Draft:
    """Call a first attempt a second one, throughout."""
    payload: Body = dict(draft.payload)
    if draft.stream.startswith("forecast/"):
        if "attempt" in payload:
            payload["attempt"] = 1
        return replace(draft, stream=f"{draft.stream.removesuffix('0')}1", payload=payload)
    if draft.kind is Kind.FORECAST_TAKEN:
        payload["forecast_attempt"] = 1
    return replace(draft, payload=payload)


def _band(**changes: Any) -> tuple[Change, ...]:  # noqa: ANN401 - any field
    """Change an agreement's band, and the verdict that repeats it."""
    return (
        told(Kind.APPROVAL_GIVEN, band=_with(**changes)),
        told(Kind.VERDICT_GIVEN, approval=_with(**changes)),
    )


def _raised(draft: Draft) -> Draft:
    if draft.kind is not Kind.REPLACE_REQUESTED or "judged" in draft.payload:
        return draft
    payload: Body = dict(draft.payload)
    payload["after"] = {**payload["after"], "qty_lots": 1_000_000, "quantity": "1000000"}
    payload["reservation"] = {**payload["reservation"], "qty_lots": 1_000_000}
    return replace(draft, payload=payload)


def _judged(draft: Draft, **changes: Any) -> Draft:  # noqa: ANN401 - any field
    if draft.kind is not Kind.REPLACE_REQUESTED or "judged" not in draft.payload:
        return draft
    payload: Body = dict(draft.payload)
    payload["judged"] = {**payload["judged"], **changes}
    return replace(draft, payload=payload)


def _unjudged(draft: Draft) -> Draft:
    payload: Body = dict(draft.payload)
    if draft.kind is Kind.REPLACE_REQUESTED:
        payload.pop("judged", None)
    return replace(draft, payload=payload)


def _other_raw(kind: Kind, before: str, after: str) -> Change:
    """Change a message without renewing its digest."""
    return told(kind, raw=lambda raw: raw.replace(f"\x01{before}", f"\x01{after}", 1))


def _adjusted(ref: str, **changes: Any) -> tuple[Change, ...]:  # noqa: ANN401 - any field
    """Change the adjustment of a name."""

    def change(draft: Draft) -> Draft:
        if draft.payload.get("ref") != ref:
            return draft
        return told(Kind.BOOK_ADJUSTED, **changes)(draft)

    return (change,)


def _message(before: str, after: str) -> Change:
    """Change the trades of messages that came, each with its digest."""

    def change(draft: Draft) -> Draft:
        raw = str(draft.payload.get("raw"))
        if draft.kind is not Kind.FIX_INBOUND or "\x0132=" not in raw:
            return draft
        raw = re.sub(f"\x01{before}", f"\x01{after}", raw, count=1)
        digest = sha256(raw.encode("latin-1")).hexdigest()
        return replace(draft, payload={**draft.payload, "raw": raw, "digest": digest})

    return change


def _each(**changes: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - any field
    return lambda members: [{**one, **changes} for one in members]


def _in_joint(**changes: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - any field
    """Change which set a record names, where it names one."""
    return lambda paths: (
        {**paths, "joint": {**paths["joint"], **changes}} if "joint" in (paths or {}) else paths
    )


def _spoken(ids: Any) -> Any:  # noqa: ANN401 - any field
    """Return a prompt's token ids with a word in it."""
    return [*ids[:-12], 80, *ids[-11:]]


def _spoken_prompt(prompt: Any) -> Any:  # noqa: ANN401 - any field
    return {**prompt, "token_ids": _spoken(prompt["token_ids"])}


def _without_joint(paths: Any) -> Any:  # noqa: ANN401 - any field
    """Leave out which set a record names."""
    return {name: value for name, value in (paths or {}).items() if name != "joint"}


def _paths_of(**changes: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - any field
    """Change which paths rules read, where they read some."""
    return lambda inputs: (
        {**inputs, "paths": {**inputs["paths"], **changes}}
        if (inputs or {}).get("paths")
        else inputs
    )


def _booked(**changes: str) -> Change:
    """Change what a resolution books, in both of its forms."""
    change = _with(**changes)
    return told(Kind.DIFFERENCE_RESOLVED, adjustment=change, trade=change)


_F = Forgery
_HALF = {"risk": "0" * 128}
FORGED: tuple[Forgery, ...] = (
    *(
        _F("joint", name, "joint", (told(Kind.PATHS_JOINED, **change),))
        for name, change in (
            ("another id", {"joint_id": "A" * 26}),
            ("joined by another rule", {"rule": "by-hand/1"}),
            ("another correlation by policy", {"without_bp": 1}),
            ("a chosen seed", {"seed": "0" * 64}),
            ("a correlation above one", {"correlation_1e6": [1_000_001]}),
            ("a correlation too many", {"correlation_1e6": [0, 0]}),
            ("one member", {"members": lambda them: them[:1]}),
            ("members the other way round", {"members": lambda them: them[::-1]}),
            ("a member twice", {"members": lambda them: [them[0], them[0]]}),
            ("a member of another leaf", {"members": _each(of_leaf="0" * 64)}),
            ("a member of another record", {"members": _each(of_seq=1)}),
            ("a member of an attempt that is none", {"members": _each(attempt=9)}),
            ("members of other paths", {"members": _each(paths="rounds_captured")}),
            ("members of two news twins", {"members": _each(paths="news_twin_made")}),
            ("a member of another instrument", {"members": _each(instrument="SPXN")}),
            ("a share above the whole", {"keep_bp": 10_001}),
            ("less than no shrinkage", {"shrunk_bp": -1}),
            ("no paths", {"n_paths": 0}),
        )
    ),
    *(
        _F("joint", f"{kind.value} with {name}", "joint", (told(kind, paths=change),))
        for kind in (Kind.INTENT_PROPOSED, Kind.PLACEBO_JUDGED, Kind.GJR_JUDGED)
        for name, change in (
            ("other paths", _with(digest="0" * 64)),
            ("another number of them", _with(n_paths=2)),
            ("a set that is none", _in_joint(joint_id="A" * 26)),
            ("another record of its set", _in_joint(of_seq=3)),
            ("another leaf of its set", _in_joint(of_leaf="0" * 64)),
            ("no set of several instruments", _without_joint),
        )
    ),
    *(
        _F("joint", f"{kind.value} read {name}", "joint", (told(kind, inputs=change),))
        for kind in (Kind.PLACEBO_JUDGED, Kind.GJR_JUDGED)
        for name, change in (
            ("other paths", _paths_of(digest="0" * 64)),
            ("paths of other instruments", _paths_of(instruments=["SPXN"])),
        )
    ),
    _F(
        "joint",
        "a verdict on other paths",
        "joint",
        (told(Kind.VERDICT_GIVEN, inputs=_paths_of(digest="0" * 64)),),
    ),
    _F(
        "joint",
        "a verdict on paths of other instruments",
        "joint",
        (told(Kind.VERDICT_GIVEN, inputs=_paths_of(instruments=["SPXN"])),),
    ),
    *(
        _F("forecast", f"drawn directly: {name}", "direct", (told(kind, **{field: value}),))
        for kind, name, field, value in (
            (Kind.TOKENS_DRAWN, "another rule", "rule", "direct-0"),
            (Kind.TOKENS_DRAWN, "a chosen seed", "seed", "0" * 64),
            (Kind.TOKENS_DRAWN, "rows of another table", "table_digest", "0" * 64),
            (Kind.TOKENS_DRAWN, "more paths", "paths", 2_048),
            (Kind.TOKENS_DRAWN, "fewer tokens", "n_tokens", 1),
            (Kind.FORECAST_REQUESTED, "with drafts", "spec_k", 4),
            (Kind.FORECAST_REQUESTED, "with a drafter", "drafter", "table"),
            (Kind.FORECAST_REQUESTED, "with a news twin", "news_twin", "0" * 64),
            (Kind.FORECAST_REQUESTED, "by nobody", "sampler", "dice"),
        )
    ),
    _F(
        "forecast",
        "drawn directly where the engine was asked",
        "direct",
        (told(Kind.FORECAST_REQUESTED, sampler="engine"),),
    ),
    _F(
        "forecast",
        "drawn directly where words act",
        "direct",
        (told(Kind.FORECAST_REQUESTED, prompt_ids=_spoken, prompt=_spoken_prompt),),
    ),
    _F(
        "forecast",
        "sampled where it was to be drawn directly",
        "orders",
        (told(Kind.FORECAST_REQUESTED, sampler="direct"),),
    ),
    _F(
        "forecast",
        "ids of another prompt",
        "orders",
        (told(Kind.FORECAST_REQUESTED, prompt=_with(token_ids=[7])),),
    ),
    _F(
        "forecast",
        "a prompt of another digest",
        "orders",
        (told(Kind.FORECAST_REQUESTED, prompt=_with(template="other")),),
    ),
    _F("run", "another mode", "orders", (told(Kind.RUN_STARTED, mode="live"),)),
    _F("run", "not a development run", "orders", (told(Kind.RUN_STARTED, dev=False),)),
    _F("decision", "another decision", "orders", (told(Kind.ORDER_SENT, decision_id="x"),)),
    _F("decision", "another account", "orders", (told(Kind.ORDER_REPORTED, account="x"),)),
    _F(
        "forecast",
        "an id of other inputs",
        "orders",
        (told(Kind.SNAPSHOT_TAKEN, inputs=_with(model="f" * 64)),),
    ),
    _F(
        "forecast",
        "another snapshot",
        "orders",
        (told(Kind.SNAPSHOT_TAKEN, snapshot_blob="f" * 64),),
    ),
    _F(
        "forecast",
        "inputs of another instrument",
        "orders",
        (told(Kind.SNAPSHOT_TAKEN, instrument="NDXN"),),
    ),
    _F(
        "forecast", "another forecast", "orders", (told(Kind.SNAPSHOT_TAKEN, forecast_id="A" * 26),)
    ),
    _F("forecast", "another attempt", "orders", (told(Kind.FORECAST_REQUESTED, attempt=1),)),
    _F("forecast", "an attempt without the first", "orders", (_second_attempt,)),
    _F(
        "forecast",
        "another prompt",
        "orders",
        (told(Kind.FORECAST_REQUESTED, prompt_digest="0" * 64),),
    ),
    _F(
        "forecast",
        "another codec",
        "orders",
        (told(Kind.FORECAST_REQUESTED, codec_digest="0" * 64),),
    ),
    *(
        _F("forecast", f"made with another {name}", "orders", (_made(**{name: value}),))
        for name, value in (
            ("instrument", "NDXN"),
            ("model_digest", "f" * 64),
            ("codec_digest", "f" * 64),
            ("source", "table"),
            ("source", "gjr"),
        )
    ),
    *(
        _F(
            "forecast",
            f"sealed as {outcome}",
            "orders",
            (told(Kind.FORECAST_SEALED, outcome=outcome),),
        )
        for outcome in ("failed", "abandoned", "")
    ),
    _F(
        "forecast",
        "sealed for another instrument",
        "orders",
        (told(Kind.FORECAST_SEALED, instrument="NDXN"),),
    ),
    *(
        _F(
            "forecast",
            f"taken with another {name}",
            "orders",
            (told(Kind.FORECAST_TAKEN, **{name: value}),),
        )
        for name, value in (
            ("instrument", "NDXN"),
            ("forecast_id", "A" * 26),
            ("forecast_id", ""),
            ("forecast_attempt", 1),
            ("of_seq", lambda seq: seq + 1),
            ("of_seq", 10**6),
            ("of_seq", None),
            ("of_leaf", "0" * 64),
            ("missing", "engine_deadline"),
        )
    ),
    _F(
        "forecast",
        "a failure that is none",
        "orders",
        (told(Kind.FORECAST_TAKEN, of_seq=None, of_leaf="", missing="engine_deadline"),),
    ),
    _F(
        "forecast",
        "an intent without a forecast",
        "orders",
        (
            told(
                Kind.FORECAST_TAKEN,
                forecast_id="",
                of_seq=None,
                of_leaf="",
                missing="snapshot_refused",
            ),
        ),
    ),
    _F(
        "forecast",
        "an intent of another instrument",
        "orders",
        (told(Kind.INTENT_PROPOSED, intent=_with(instrument="NDXN")),),
    ),
    *(
        _F(
            "index",
            f"a line with another {name}",
            "orders",
            (told(Kind.FORECAST_LISTED, **{name: value}),),
        )
        for name, value in (
            ("instrument", "NDXN"),
            ("event", "again"),
            ("forecast_id", "A" * 26),
            ("attempt", 1),
            ("again", 1),
        )
    ),
    *(
        _F(
            "index",
            f"taken with another {name}",
            "orders",
            (told(Kind.FORECAST_TAKEN, **{name: value}),),
        )
        for name, value in (
            ("instrument", "NDXN"),
            ("forecast_id", "A" * 26),
            ("forecast_attempt", 1),
        )
    ),
    _F(
        "intent",
        "another author",
        "orders",
        (told(Kind.INTENT_PROPOSED, intent=_with(author="x")),),
    ),
    _F("intent", "another digest", "orders", (told(Kind.INTENT_PROPOSED, intent_digest="0" * 64),)),
    _F(
        "verdict",
        "policy never in force",
        "orders",
        (told(Kind.VERDICT_GIVEN, policy_digest="f" * 64),),
    ),
    _F("verdict", "results dropped", "orders", (_results(lambda one: one["rule_id"] == "R00"),)),
    _F("verdict", "R01 dropped", "orders", (_results(lambda one: one["rule_id"] != "R01"),)),
    _F(
        "verdict", "one check dropped", "orders", (_results(lambda one: one["check"] != "maximum"),)
    ),
    _F(
        "verdict",
        "an armed rule called disarmed",
        "orders",
        (_result("R04", outcome="NOT_APPLICABLE", reason="DISARMED"),),
    ),
    _F("verdict", "a breach called a pass", "orders", (_result("R04", margin=-1),)),
    _F(
        "verdict",
        "another intent",
        "orders",
        (told(Kind.VERDICT_GIVEN, intent=_with(qty_lots=1_000_000)),),
    ),
    _F(
        "verdict",
        "another intent digest",
        "orders",
        (told(Kind.VERDICT_GIVEN, intent_digest="0" * 64),),
    ),
    _F("verdict", "no reservation", "orders", (told(Kind.VERDICT_GIVEN, reservation=None),)),
    _F("verdict", "no state", "orders", (told(Kind.VERDICT_GIVEN, state={}),)),
    _F(
        "verdict",
        "approved while killed",
        "orders",
        (told(Kind.VERDICT_GIVEN, state=_with(killed=True)),),
    ),
    _F("verdict", "another kill epoch", "orders", (told(Kind.VERDICT_GIVEN, kill_epoch=99),)),
    _F("verdict", "no instruments on record", "orders", (told(Kind.RUN_STARTED, instruments=[]),)),
    _F(
        "hold",
        "approver is the author",
        "held",
        (told(Kind.APPROVAL_GIVEN, approver="agent"), *_band(approver="agent")),
    ),
    _F("hold", "another intent", "held", _band(intent_digest="0" * 64)),
    _F("hold", "expired in 1970", "held", _band(expires_us=1)),
    _F("hold", "for one lot", "held", _band(qty_max_lots=1)),
    _F("hold", "a band ten times as wide", "held", _band(price_high_ticks=10**6)),
    _F("hold", "another side", "held", _band(side="SELL")),
    _F("hold", "another rule released", "held", _band(releases=["R01"])),
    _F(
        "hold",
        "no band and no approval",
        "held",
        (told(Kind.APPROVAL_GIVEN, band=None), told(Kind.VERDICT_GIVEN, approval=None)),
    ),
    _F(
        "hold",
        "a band of text",
        "held",
        (told(Kind.APPROVAL_GIVEN, band="None"), told(Kind.VERDICT_GIVEN, approval=None)),
    ),
    _F("hold", "no verdict", "held", (told(Kind.APPROVAL_GIVEN, verdict_seq=0),)),
    _F(
        "hold",
        "nobody read the sheet",
        "held",
        (told(Kind.APPROVAL_GIVEN, shown=_with(read_seq=0)),),
    ),
    _F("hold", "somebody else read it", "held", (told(Kind.READ_RECORDED, reader="x"),)),
    _F("hold", "nobody approved", "held", (told(Kind.APPROVAL_GIVEN, approver=""),)),
    _F("hold", "no renewal", "held", (told(Kind.VERDICT_GIVEN, renewal=False),)),
    _F("order", "a hundred times the quantity", "orders", (_tag(38, "5100"),)),
    _F("order", "any limit", "orders", (_tag(44, "9999999.00"),)),
    _F("order", "another account", "orders", (_tag(1, "SOMEBODYELSE"),)),
    _F("order", "a market order", "orders", (_tag(40, "1"),)),
    _F("order", "good till cancelled", "orders", (_tag(59, "1"),)),
    _F("order", "another currency", "orders", (_tag(15, "JPY"),)),
    _F("order", "another type of message", "orders", (_tag(35, "G"),)),
    _F("order", "55 twice, first", "orders", (_more(55, "NDXN", first=True),)),
    _F("order", "55 twice, last", "orders", (_more(55, "NDXN", first=False),)),
    _F("order", "38 twice", "orders", (_more(38, "100000", first=False),)),
    _F("order", "another kill epoch", "orders", (told(Kind.ORDER_SENDING, kill_epoch=99),)),
    _F("order", "after its time", "orders", (told(Kind.ORDER_SENDING, send_before_us=1),)),
    _F("wire", "another quantity left", "orders", (_other_raw(Kind.ORDER_SENT, "38=5", "38=55"),)),
    _F("wire", "another digest", "orders", (told(Kind.ORDER_SENT, raw_digest="0" * 64),)),
    _F("wire", "another message came", "orders", (_other_raw(Kind.FIX_INBOUND, "32=1", "32=2"),)),
    _F("wire", "another replace left", "replaced", (_other_raw(Kind.REPLACE_SENT, "44=", "44=9"),)),
    _F("replace", "raised without a verdict", "replaced", (_raised,)),
    _F("replace", "its verdict removed", "replaced", (_unjudged,)),
    _F("replace", "judged for less", "replaced", (lambda draft: _judged(draft, intent={}),)),
    _F(
        "replace",
        "another order",
        "replaced",
        (told(Kind.REPLACE_REQUESTED, orig_cl_ord_id="A" * 20),),
    ),
    _F(
        "replace",
        "a request that is not on record",
        "replaced",
        (told(Kind.REPLACE_SENT, cl_ord_id="A" * 20),),
    ),
    _F(
        "replace",
        "no reservation",
        "replaced",
        (told(Kind.REPLACE_REQUESTED, reservation=_with(qty_lots=1)),),
    ),
    _F(
        "fill", "another quantity", "orders", (told(Kind.ORDER_REPORTED, fill=_with(qty_lots=500)),)
    ),
    _F("fill", "another price", "orders", (told(Kind.ORDER_REPORTED, fill=_with(price_ticks=1)),)),
    _F("fill", "another unit", "orders", (told(Kind.ORDER_REPORTED, fill=_with(unit_minor=100)),)),
    _F("fill", "another side", "orders", (told(Kind.ORDER_REPORTED, fill=_with(side="SELL")),)),
    _F("fill", "another report", "orders", (told(Kind.ORDER_REPORTED, report=_with(cum_qty="7")),)),
    _F("fill", "another fee", "orders", (told(Kind.ORDER_REPORTED, fill=_with(fee_minor=-5)),)),
    _F(
        "fill",
        "another commission",
        "orders",
        (told(Kind.ORDER_REPORTED, report=_with(commission="9.00")),),
    ),
    _F("fill", "no session", "orders", (told(Kind.ORDER_REPORTED, session=None),)),
    *(
        _F("fill", name, "orders", (_message("31=([^\x01]*)", f"31=\\1\x01{more}"),))
        for name, more in (
            ("a message in another currency", "15=EUR"),
            ("a message that settles in another currency", "120=EUR"),
            ("a message with two prices", "31=99.00"),
            ("a message with another side", "54=2"),
            ("a message with a fee that is not booked", "136=1\x01137=2.00\x01139=1"),
            ("a message with a fee per unit", "136=1\x01137=0.01\x01891=1"),
            ("a message with a fee in percent", "136=1\x01137=0.5\x01138=USD\x01891=2"),
        )
    ),
    _F("fill", "no message", "orders", (told(Kind.ORDER_REPORTED, inbox_offset=1),)),
    _F(
        "policy",
        "nobody signed",
        "orders",
        (told(Kind.POLICY_ACTIVATED, signatures=[], signed_by=[]),),
    ),
    _F(
        "policy", "another digest", "orders", (told(Kind.POLICY_ACTIVATED, policy_digest="e" * 64),)
    ),
    _F(
        "policy",
        "another policy",
        "orders",
        (told(Kind.POLICY_ACTIVATED, policy=_with(version=9)),),
    ),
    _F("mode", "another mode before", "governed", (told(Kind.MODE_ENTERED, before="live"),)),
    _F("mode", "nobody signed", "governed", (told(Kind.MODE_ENTERED, signatures={}),)),
    _F("release", "nobody signed", "governed", (told(Kind.KILL_RELEASED, signatures={}),)),
    _F("release", "one signed", "governed", (told(Kind.KILL_RELEASED, signatures=_HALF),)),
    _F("release", "another press", "governed", (told(Kind.KILL_RELEASED, press_id="0" * 32),)),
    _F("release", "another kill", "governed", (told(Kind.KILL_RELEASED, kill_epoch=7),)),
    _F("release", "another ledger", "governed", (told(Kind.KILL_RELEASED, log_id="other#0"),)),
    _F("resume", "nobody signed", "governed", (told(Kind.STOP_ENDED, signatures={}),)),
    _F("resume", "another stop", "governed", (told(Kind.STOP_ENDED, stop_ids=["0" * 32]),)),
    _F("promotion", "nobody signed", "governed", (told(Kind.MODEL_PROMOTED, signatures={}),)),
    _F(
        "promotion", "a test that refused", "governed", (told(Kind.PROMOTION_TESTED, passed=False),)
    ),
    _F(
        "promotion",
        "another model",
        "governed",
        (told(Kind.MODEL_PROMOTED, model_digest="0" * 64),),
    ),
    _F("criteria", "nobody signed", "governed", (told(Kind.FAIRNESS_AGREED, signatures={}),)),
    _F(
        "criteria",
        "other criteria",
        "governed",
        (told(Kind.FAIRNESS_AGREED, criteria=_with(version=99)),),
    ),
    *(
        _F("signed", f"{kind}: {name}", "governed", (told(kind, signatures=given),))
        for kind in _SIGNED_KINDS
        for name, given in (("nobody signed", {}), ("one signed", _HALF))
    ),
    *(
        _F(
            "ended",
            f"{spec.kind} of another {name}",
            "governed",
            (told(spec.kind, **{name: value}),),
        )
        for spec in KINDS.values()
        if spec.ends
        for name, value in (("of_seq", 1), ("of_leaf", "0" * 64), ("ref", "other"))
    ),
    _F(
        "justification",
        "another name",
        "governed",
        (told(Kind.JUSTIFICATION_ENTERED, ref="other"),),
    ),
    _F("difference", "nobody signed", "resolved", (told(Kind.DIFFERENCE_RESOLVED, signatures={}),)),
    _F("difference", "another difference", "resolved", (told(Kind.DIFFERENCE_RESOLVED, of_seq=0),)),
    _F(
        "difference",
        "more is booked",
        "resolved",
        (told(Kind.DIFFERENCE_RESOLVED, adjustment=_with(qty_lots=300)),),
    ),
    _F(
        "difference",
        "another price is booked",
        "resolved",
        (told(Kind.DIFFERENCE_RESOLVED, adjustment=_with(price_ticks=1)),),
    ),
    _F(
        "difference",
        "a fee that nobody signed",
        "resolved",
        (told(Kind.DIFFERENCE_RESOLVED, adjustment=_with(fee_minor=-100_000)),),
    ),
    _F("difference", "other words", "resolved", (told(Kind.DIFFERENCE_RESOLVED, reason="x"),)),
    _F("difference", "another side is booked", "resolved", (_booked(side="SELL"),)),
    _F("difference", "another instrument is booked", "resolved", (_booked(instrument="NDXN"),)),
    _F("difference", "another account", "resolved", (told(Kind.DIFFERENCE_RESOLVED, account="x"),)),
    _F(
        "difference",
        "another order's decision",
        "resolved",
        (told(Kind.DIFFERENCE_RESOLVED, decision_id="x"),),
    ),
    _F(
        "difference",
        "sides that do not lead to it",
        "resolved",
        (told(Kind.DIFFERENCE_RESOLVED, book_lots=3),),
    ),
    *(
        _F(
            "adjustment",
            f"{ref} with another {', '.join(changes)}",
            "adjusted",
            _adjusted(ref, **changes),
        )
        for ref, changes in (
            ("opening", {"amount_minor": 1}),
            ("opening", {"positions": []}),
            ("opening", {"lots": {}}),
            ("dividend", {"amount_minor": 800_000}),
            ("fee", {"amount_minor": -2_500_000}),
            ("fee", {"amount_minor": 2_500}),
            ("fee", {"sort": "cash"}),
            ("fee", {"fill": {"qty_lots": 1}}),
            ("fee", {"account": "desk"}),
            ("fee", {"signatures": {}}),
            ("cash", {"amount_minor": 50}),
            ("trade", {"fill": _with(qty_lots=100)}),
            ("trade", {"fill": _with(price_ticks=1)}),
            ("trade", {"fill": _with(fee_minor=-125)}),
            ("trade", {"fill": _with(unit_minor=100)}),
            ("trade", {"fill": _with(side="SELL")}),
            ("trade", {"fill": None}),
            ("trade", {"trade": None}),
            ("trade", {"lots": {"SPXN": 300}}),
            ("give_up", {"fill": _with(qty_lots=1)}),
            ("mark", {"mark_ticks": 1}),
            ("mark", {"marks": [1, 10**6]}),
            ("no-mark", {"mark_ticks": 1}),
            ("split", {"split": [20, 1]}),
            ("split", {"lots": _with(SPXN=2060)}),
            ("split", {"lots": {}}),
            ("split", {"effective_us": 1}),
            ("now", {"effective_us": 1}),
            ("now", {"amount_minor": 1}),
        )
    ),
)
"""Found without any officer's key."""

SIGNED: tuple[Forgery, ...] = tuple(
    _F(statement, f"{kind} with {name} changed", scene, (told(kind, **{name: value}),))
    for statement, scene, kind, name, value in (
        (
            "policy",
            "orders",
            Kind.POLICY_ACTIVATED,
            "signatures",
            lambda rows: [{**one, "signature": "0" * 128} for one in rows],
        ),
        ("mode", "governed", Kind.MODE_ENTERED, "limits", "0" * 64),
        ("mode", "governed", Kind.MODE_ENTERED, "mode", "live"),
        ("release", "governed", Kind.KILL_RELEASED, "live", ["A" * 20]),
        (
            "resume",
            "governed",
            Kind.STOP_ENDED,
            "signatures",
            dict.fromkeys(SIGNING_ROLES, "0" * 128),
        ),
        ("promotion", "governed", Kind.PROMOTION_TESTED, "gate", "another"),
        (
            "criteria",
            "governed",
            Kind.FAIRNESS_AGREED,
            "signatures",
            dict.fromkeys(SIGNING_ROLES, "0" * 128),
        ),
        *(
            ("signed", "governed", kind, name, _another)
            for kind in _SIGNED_KINDS
            for name in KINDS[kind].signed_fields
            if name != "log_id"
        ),
        ("difference", "resolved", Kind.DIFFERENCE_RESOLVED, "terms", _with(exec_ids=["X"])),
    )
)
"""Found with both officers' keys: every field looks right, and nobody signed it so."""
