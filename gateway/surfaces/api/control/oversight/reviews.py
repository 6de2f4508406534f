"""Blind reviews over HTTP: draw a sample, see it without the model's answer, answer."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from gateway.desk.desk import Desk
from gateway.desk.persons.oversight.reviews import (
    ReviewAnswerBody,
    ReviewBody,
    answer_review,
    draw_review,
    read_review,
    read_reviews,
)
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute

router = APIRouter(prefix="/v1/reviews", tags=["reviews"], route_class=StrictRoute)
_Watcher = Annotated[Caller, Depends(allowed("watch"))]


@router.get("", summary="Which blind reviews were drawn, and how far did people agree?")
def listed(request: Request, caller: _Watcher) -> dict[str, Any]:
    """Return the newest samples, each with its number of answers and Cohen's kappa."""
    desk: Desk = request.app.state.desk
    desk.reads.note(caller, "reviews")
    return {"reviews": [one.document() for one in read_reviews(desk.own.reader)]}


@router.post("", summary="Draw a sample for a blind review")
def draw(
    body: ReviewBody, request: Request, caller: Annotated[Caller, Depends(allowed("test"))]
) -> dict[str, Any]:
    """Draw decisions of these days by the log's root; the same days have one sample."""
    desk: Desk = request.app.state.desk
    return draw_review(desk.own, caller.name, body)


@router.get("/{seq}", summary="One sample, without the answers that you have not given")
def read(seq: int, request: Request, caller: _Watcher) -> dict[str, Any]:
    """Return what was known before each decision; the model's answer follows yours."""
    desk: Desk = request.app.state.desk
    looked, items = read_review(desk.own.reader, seq, caller.name)
    desk.reads.note(caller, f"review/{seq}")
    return looked.document() | {"items": [one.document() for one in items]}


@router.post("/{seq}/answers/{decision_id}", summary="Answer for one decision of a sample")
def answer(
    seq: int, decision_id: str, body: ReviewAnswerBody, request: Request, caller: _Watcher
) -> dict[str, Any]:
    """Record your answer; whoever opened the decision before is refused."""
    desk: Desk = request.app.state.desk
    return answer_review(desk.own, caller.name, seq, decision_id, body)
