"""What each act of the table does, by its name; a test holds both equal.

A read is put on record by whoever asks, before it is shown (`reads`).

Not here: who may ask, where and with which body (`gateway.acts`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.desk.agents.allocation import allocate, sealed_split
from gateway.desk.bodies.stopping import ResumeRequest
from gateway.desk.desk import Desk
from gateway.desk.holds.answered import answered_by
from gateway.desk.officers import adjustment, resolution, stops
from gateway.desk.officers.flatten import flatten
from gateway.desk.officers.forecasts import forecasts_document
from gateway.desk.officers.governing import overrides, policies
from gateway.desk.officers.governing.trials import record_trial, trials_document
from gateway.desk.officers.oversight import cases, criteria, fairness, publications, reviews, swaps
from gateway.desk.officers.oversight.annotations import annotate, read_annotations, remark
from gateway.desk.officers.oversight.justifications import (
    end_justification,
    enter_justification,
    justifications,
)
from gateway.desk.parts import DeskParts
from gateway.installation.keys.keyring import Caller
from gateway.installation.policies.origins import origins_document
from risk.state.state import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAct:
    """An act that somebody who may asked for: the path's ids, and a body that fits the row."""

    desk: Desk
    caller: Caller
    ids: Mapping[str, Any]
    body: Any = None

    @property
    def own(self) -> DeskParts:
        """The desk's parts."""
        return self.desk.own


def _annotations(asked: AskedAct) -> dict[str, Any]:
    decision_id = asked.ids["decision_id"]
    found = read_annotations(asked.own.reader, decision_id)
    return {"decision_id": decision_id, "annotations": [one.document() for one in found]}


def _annotate(asked: AskedAct) -> dict[str, Any]:
    return annotate(asked.own, asked.caller, asked.ids["decision_id"], asked.body)


def _review(asked: AskedAct) -> dict[str, Any]:
    looked, items = reviews.read_review(asked.own.reader, asked.ids["seq"], asked.caller.name)
    return looked.document() | {"items": [one.document() for one in items]}


def _reviews(asked: AskedAct) -> dict[str, Any]:
    return {"reviews": [one.document() for one in reviews.read_reviews(asked.own.reader)]}


def _stop(stop: Stop) -> Callable[[AskedAct], dict[str, Any]]:
    return lambda asked: stops.begin_stop(asked.own, asked.caller.name, stop, asked.body.reason)


def _resume(asked: AskedAct) -> dict[str, Any]:
    body: ResumeRequest = asked.body
    stop = None if body.stop is None else Stop(body.stop)
    signatures = {str(role): text for role, text in body.signatures.items()}
    return stops.resume(asked.own, asked.caller.name, stop, body.reason, signatures)


def _withdraw(asked: AskedAct) -> dict[str, Any]:
    name, override_id = asked.caller.name, asked.ids["override_id"]
    return overrides.withdraw_override(asked.own, name, override_id, asked.body.reason)


def _by_name(
    act: Callable[..., dict[str, Any]], *places: str
) -> Callable[[AskedAct], dict[str, Any]]:
    """Return an act that takes the desk's parts, who asks, the ids of `places`, and the body."""

    def perform(asked: AskedAct) -> dict[str, Any]:
        ids = (asked.ids[place] for place in places)
        return act(asked.own, asked.caller.name, *ids, asked.body)

    return perform


PERFORM: Final[Mapping[str, Callable[[AskedAct], dict[str, Any]]]] = {
    "stops.list": lambda asked: stops.stops_state(asked.own),
    "stops.pause": _stop(Stop.PAUSE),
    "stops.reduce_only": _stop(Stop.REDUCE_ONLY),
    "stops.secure": _stop(Stop.SECURE),
    "stops.cancel_all": lambda asked: stops.cancel_all(
        asked.own, asked.caller.name, asked.body.reason
    ),
    "stops.flatten": lambda asked: flatten(asked.desk, asked.caller, asked.body),
    "stops.resume": _resume,
    "overrides.list": lambda asked: overrides.overrides_state(asked.own),
    "overrides.grant": _by_name(overrides.grant_override),
    "overrides.withdraw": _withdraw,
    "policy.read": lambda asked: policies.policy_state(asked.desk),
    "policy.origins": lambda asked: origins_document(asked.own.section.policy),
    "policy.trials": lambda asked: trials_document(asked.own.reader),
    "policy.try": _by_name(record_trial),
    "policy.follow": lambda asked: policies.follow_policy(
        asked.desk, asked.caller, asked.body.reason
    ),
    "adjustments.list": lambda asked: adjustment.adjustments(asked.own),
    "adjustments.adjust": _by_name(adjustment.adjust),
    "differences.list": lambda asked: resolution.listed(asked.own),
    "differences.resolve": _by_name(resolution.resolve, "seq"),
    "forecasts.list": lambda asked: forecasts_document(asked.own),
    "allocation.read": lambda asked: sealed_split(
        asked.own.reader, asked.ids["decision_id"]
    ).document(),
    "allocation.split": _by_name(allocate, "decision_id"),
    "fairness.list": lambda asked: fairness.runs_document(asked.own.reader),
    "fairness.record": _by_name(fairness.record_run),
    "criteria.list": lambda asked: criteria.criteria_document(asked.own.reader),
    "criteria.agree": _by_name(criteria.agree_on),
    "swaps.record": _by_name(swaps.record_swaps),
    "justifications.list": lambda asked: justifications(asked.own),
    "justifications.enter": _by_name(enter_justification),
    "justifications.end": _by_name(end_justification, "ref"),
    "cases.list": lambda asked: cases.cases_document(asked.own),
    "cases.read": lambda asked: cases.case_document(asked.own, asked.ids["case_id"]),
    "cases.note": _by_name(cases.note_case, "case_id"),
    "cases.move": _by_name(cases.move_case, "case_id"),
    "reviews.list": _reviews,
    "reviews.draw": _by_name(reviews.draw_review),
    "reviews.read": _review,
    "reviews.answer": _by_name(reviews.answer_review, "seq", "decision_id"),
    "approvals.by": lambda asked: answered_by(asked.own.reader, **asked.ids),
    "publications.list": lambda asked: publications.publications_state(asked.own),
    "publications.note": _by_name(publications.note_publication),
    "publications.end": _by_name(publications.end_publication, "ref"),
    "annotations.list": _annotations,
    "annotations.note": _annotate,
    "annotations.remark": lambda asked: remark(
        asked.own, asked.caller, asked.ids["decision_id"], asked.body
    ),
}
