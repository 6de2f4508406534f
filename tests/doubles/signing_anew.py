"""Two officers who sign again what a log that was written again says that they signed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from audit.records.canonical import JSON
from audit.records.kinds import KINDS, Kind
from audit.records.record import Draft
from gateway.desk.bodies.booking import AdjustRequest, ResolveRequest
from gateway.desk.bodies.governing import OverrideTerms
from gateway.desk.controls.statements import release_statement, statement
from gateway.desk.officers.adjustment import adjustment_statement
from gateway.desk.officers.governing.modes import mode_statement
from gateway.desk.officers.governing.overrides import override_statement
from gateway.desk.officers.oversight.criteria import criteria_statement
from gateway.desk.officers.resolution import resolution_statement
from gateway.desk.officers.stops import resume_statement
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.launch.setup.pairs.promotion import promotion_statement
from gateway.walk.journal.control.modes import Mode, PromotionTested
from gateway.walk.projections.modes import ModeHistory
from risk.windows.fairness.criteria import criteria_of

_TESTED_NAMES = ("model_id", "model_digest", "report_blob")
TESTED: dict[str, JSON] = {
    "model_id": "pair",
    "model_digest": "d" * 64,
    "gate": "gate-1",
    "passed": True,
    "failed": [],
    "report_blob": "",
    "actor_name": "ada",
    "reason": "test",
}
"""A test of a model pair that passed; the promotions of test logs follow it."""


def signing(keyring: Keyring, log: str) -> Callable[[Draft], Draft]:
    """Return a change that has officers sign each of their statements for the log of this id."""

    def sign(draft: Draft) -> Draft:
        text = _statement(draft.kind, draft.payload, log)
        if text is None or not draft.payload.get("signatures"):
            return draft
        named = {"log_id": log} if "log_id" in draft.payload else {}
        signatures = {one: keyring.signing_key(one).sign(text).hex() for one in SIGNING_ROLES}
        return replace(draft, payload={**draft.payload, **named, "signatures": signatures})

    return sign


def _statement(  # noqa: PLR0911 - one sort of statement each
    kind: Kind, body: Mapping[str, Any], log: str
) -> bytes | None:
    match kind:
        case Kind.BOOK_ADJUSTED:
            return adjustment_statement(log, AdjustRequest.model_validate(body["terms"]))
        case Kind.DIFFERENCE_RESOLVED if "terms" in body:
            request = ResolveRequest.model_validate(body["terms"])
            return resolution_statement(log, body["of_seq"], body["of_leaf"], request)
        case Kind.KILL_RELEASED:
            live = body.get("live", ())
            return release_statement(log, body["kill_epoch"], body["press_id"], live)
        case Kind.STOP_ENDED:
            return resume_statement(log, body["stop_ids"])
        case Kind.OVERRIDE_GRANTED:
            names = set(OverrideTerms.model_fields) & body.keys()
            terms = {**{name: body[name] for name in names}, "rule": body["rule_id"]}
            return override_statement(log, OverrideTerms.model_validate(terms))
        case Kind.FAIRNESS_AGREED:
            return criteria_statement(log, criteria_of(body["criteria"]))
        case Kind.MODEL_PROMOTED:
            seq = body["tested_seq"]
            tested = PromotionTested.read({**TESTED, **{n: body[n] for n in _TESTED_NAMES}})
            return promotion_statement(log, tested, seq)
        case Kind.MODE_ENTERED:
            history = ModeHistory(mode=body["before"], changed_seq=-1)
            return mode_statement(log, history, Mode(body["mode"]), body.get("limits", ""))
        case _ if purpose := KINDS[kind].signed[:1]:
            return statement(*purpose, log, *(_filled(one, body) for one in KINDS[kind].signed[1:]))
        case _:
            return None


def _filled(line: str, body: Mapping[str, Any]) -> str:
    """Return a particular as `Filing.signed` says it, written apart from the product's way."""
    for name, value in body.items():
        line = line.replace("{" + name + ":json}", json.dumps(value, sort_keys=True))
        line = line.replace("{" + name + "}", str(value))
    return line
