"""What those who watch over the desk read: flow, fairness, reviews, scores, cases, the policy."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import Query

from gateway.clock import date_of
from gateway.desk.officers.oversight.case_files import draft_report, read_case, read_cases
from gateway.desk.officers.oversight.justifications import justifications
from gateway.desk.officers.oversight.publications import publications
from gateway.desk.officers.oversight.reviews import read_review, read_reviews
from gateway.errors import GatewayError
from gateway.evidence.answers.days import FlowDays
from gateway.evidence.answers.engine_adds import engine_adds
from gateway.evidence.answers.outcomes import scores_of
from gateway.surfaces.web.pages.page import AskedPage, NoSuchPageError, Page
from gateway.surfaces.web.views.oversight.fairness import fairness_view
from gateway.surfaces.web.views.oversight.policies import policy_view
from gateway.surfaces.web.views.oversight.reviews import review_cards
from gateway.surfaces.web.views.oversight.scores import score_view


def _flow(
    asked: AskedPage,
    first: Annotated[str, Query(alias="from", max_length=10)] = "",
    last: Annotated[str, Query(alias="to", max_length=10)] = "",
) -> Mapping[str, object]:
    """Return what was refused and why, and how long orders took; by default of today."""
    days: FlowDays = asked.state.flow_days
    begins = first or date_of(asked.desk.own.dispatching.wall_us())
    return {"report": days.between(begins, last or begins)}


def _fairness(
    asked: AskedPage, run: Annotated[int | None, Query(ge=0)] = None
) -> Mapping[str, object]:
    return {"view": fairness_view(asked.reader, run)}


def _policy(asked: AskedPage) -> Mapping[str, object]:
    """Return the policy in force, where its numbers come from, and the trials on record."""
    return {"view": policy_view(asked.reader)}


def _scores(asked: AskedPage) -> Mapping[str, object]:
    """Return how forecasts did against the bars that came."""
    return {"view": score_view(scores_of(asked.reader))}


def _engine_adds(
    asked: AskedPage, account: Annotated[str, Query(max_length=100)] = ""
) -> Mapping[str, object]:
    """Return an account against its GJR twin: scale, words, execution."""
    return {"view": engine_adds(asked.reader, account).document()}


def _publications(asked: AskedPage) -> Mapping[str, object]:
    return {"publications": publications(asked.reader)}


def _justifications(asked: AskedPage) -> Mapping[str, object]:
    return justifications(asked.desk.own)


def _reviews(asked: AskedPage) -> Mapping[str, object]:
    return {"reviews": read_reviews(asked.reader), "one": None, "cards": ()}


def _review(asked: AskedPage, seq: int) -> Mapping[str, object]:
    """Return one sample; the model's answer only beside the person's own."""
    try:
        looked, items = read_review(asked.reader, seq, asked.caller.name)
    except GatewayError as error:
        raise NoSuchPageError("No such review", str(error), back="/reviews") from None
    own = asked.desk.own

    def unit_of(instrument: str) -> tuple[int, str]:
        listed, currency = own.instruments.get(instrument), own.dispatching.profile.currency
        return (1, currency) if listed is None else (listed.tick_minor, listed.currency)

    return {"reviews": (), "one": looked, "cards": review_cards(looked, items, unit_of)}


def _cases(asked: AskedPage) -> Mapping[str, object]:
    return {"cases": read_cases(asked.reader), "one": None, "draft": ""}


def _case(asked: AskedPage, case_id: str) -> Mapping[str, object]:
    """Return one case with its evidence, notes and the draft of a report."""
    try:
        case = read_case(asked.reader, case_id)
    except GatewayError as error:
        raise NoSuchPageError("No such case", str(error), back="/cases") from None
    return {"cases": (), "one": case, "draft": draft_report(asked.reader, case)}


WATCHED: Final = (
    Page(
        path="/flow",
        title="Flow",
        reader=_flow,
        template="flow.html",
        noted="flow",
        menu=True,
    ),
    Page(
        path="/fairness",
        title="Fairness",
        reader=_fairness,
        template="fairness.html",
        noted="fairness",
        under="/ledger",
    ),
    Page(
        path="/policy",
        title="Policy",
        reader=_policy,
        template="policy.html",
        noted="policy",
        under="/ledger",
    ),
    Page(
        path="/scores",
        title="Scores",
        reader=_scores,
        template="scores.html",
        noted="scores",
        under="/ledger",
    ),
    Page(
        path="/engine-adds",
        title="What the engine adds",
        reader=_engine_adds,
        template="engine_adds.html",
        noted="engine adds",
        under="/ledger",
    ),
    Page(
        path="/publications",
        title="Own publications",
        reader=_publications,
        template="publications.html",
        noted="publications",
        under="/ledger",
    ),
    Page(
        path="/justifications",
        title="Justifications",
        reader=_justifications,
        template="justifications.html",
        noted="justifications",
        under="/ledger",
    ),
    Page(
        path="/reviews",
        title="Blind reviews",
        reader=_reviews,
        template="reviews.html",
        noted="reviews",
    ),
    Page(
        path="/reviews/{seq}",
        title="Blind reviews",
        reader=_review,
        template="reviews.html",
        noted="review/{seq}",
    ),
    Page(
        path="/cases",
        title="Cases",
        reader=_cases,
        template="cases.html",
        noted="cases",
        action="review",
    ),
    Page(
        path="/cases/{case_id}",
        title="Cases",
        reader=_case,
        template="cases.html",
        noted="case/{case_id}",
        action="review",
    ),
)
