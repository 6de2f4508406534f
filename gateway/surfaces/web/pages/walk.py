"""Decisions as a list, one as the walk, and a basket of them."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import Query

from gateway.desk.holds.answering import open_sheet
from gateway.surfaces.web.pages.page import AskedPage, NoSuchPageError, Page
from gateway.surfaces.web.views.decision import DecisionView
from gateway.surfaces.web.views.lists import OUTCOMES
from gateway.surfaces.web.views.oversight.baskets import basket_view


def _decisions(
    asked: AskedPage,
    run: Annotated[str, Query(max_length=200)] = "",
    outcome: Annotated[str, Query(max_length=40)] = "",
    before: Annotated[int | None, Query(ge=0)] = None,
) -> Mapping[str, object]:
    view = asked.views.decisions(run_id=run, outcome=outcome, before=before)
    return {"view": view, "outcomes": OUTCOMES, "before": before}


def _decision(
    asked: AskedPage, decision_id: str, paths: Annotated[int, Query(ge=0, le=10_000)] = 0
) -> Mapping[str, object]:
    view = asked.views.decision(decision_id, paths) if decision_id.isprintable() else None
    if view is None:
        raise NoSuchPageError("No such decision", "The ledger has no decision with this id.")
    return {
        "view": view,
        "reader": asked.caller,
        "steps": steps(view),
        "inclusion": asked.views.inclusion(view.chain[-1].record),
        "approval": f"/decisions/{decision_id}/approval",
        "edit": asked.desk.refused.would_pass(decision_id, openly=True),
        "sheet_digest": _sheet_digest(asked, decision_id) if view.waits else "",
    }


def _sheet_digest(asked: AskedPage, decision_id: str) -> str:
    """Return the digest of what an approver is shown; the read is on record."""
    desk = asked.desk
    return open_sheet(desk.own.reader, desk.reads, asked.caller, decision_id).digest


def _basket(asked: AskedPage, basket_id: str) -> Mapping[str, object]:
    found = basket_view(asked.reader, basket_id)
    if found is None:
        text = "The ledger has no basket with this id."
        raise NoSuchPageError("No such basket", text, back="/orders")
    return {"basket": found}


def steps(view: DecisionView) -> tuple[tuple[str, str, bool], ...]:
    """Return the steps of the walk: anchor, name, and whether it happened."""
    return (
        ("snapshot", "Snapshot", view.snapshot is not None),
        ("narrative", "Narrative", view.snapshot is not None and bool(view.snapshot.news)),
        ("prompt", "Prompt and seed", bool(view.prompt)),
        ("rounds", "Draft and target", view.tokens is not None),
        ("forecast", "Forecast", view.target is not None),
        ("intent", "Intent", bool(view.proposed)),
        ("rules", "Rules", bool(view.rules)),
        ("approval", "Approval", bool(view.asked)),
        *((("renewal", "Renewal", True),) if view.renewed else ()),
        ("order", "Order", bool(view.order)),
        ("chain", "Records", True),
    )


WALK: Final = (
    Page(
        path="/",
        title="Decisions",
        reader=_decisions,
        template="decisions.html",
        noted="decisions",
        menu=True,
        fresh=True,
        looks=("/?outcome=filled",),
    ),
    Page(
        path="/decisions/{decision_id}",
        title="Decision",
        reader=_decision,
        template="decision.html",
        noted="decision/{decision_id}",
    ),
    Page(
        path="/baskets/{basket_id}",
        title="Basket",
        reader=_basket,
        template="basket.html",
        noted="basket/{basket_id}",
        under="/",
    ),
)
