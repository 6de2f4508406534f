"""Pages of oversight: held orders with the form that answers, cases, reviews, scores, policy, acts.

Not here: what an approver is shown and what an answer does (`gateway.desk.officers.checkpoint`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import Response

from audit.errors import AuditError
from gateway.desk.bodies.requests import WouldPass
from gateway.desk.holds.waiting import HoldList
from gateway.desk.officers.oversight.case_files import CaseLook
from gateway.desk.officers.oversight.reviews import ReviewItem, ReviewLook
from gateway.errors import GatewayError
from gateway.evidence.answers.engine_adds import EngineAdds
from gateway.evidence.answers.outcomes import Scores
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.web.doors import WATCH, Posted, SignedIn, reader_of
from gateway.surfaces.web.sheets import Sheets
from gateway.surfaces.web.views.lists import Views
from gateway.surfaces.web.views.oversight.policies import policy_view
from gateway.surfaces.web.views.oversight.reviews import review_cards
from gateway.surfaces.web.views.oversight.scores import score_view
from gateway.telemetry.alarms.alarms import Alarms

APPROVALS: Final = "/approvals"
CASES: Final = "/cases"
REVIEWS: Final = "/reviews"
SCORES: Final = "/scores"
ADDS: Final = "/engine-adds"
ALARMS: Final = "/alarms"
POLICY: Final = "/policy"
PUBLICATIONS: Final = "/publications"
JUSTIFICATIONS: Final = "/justifications"


class ApprovalActions(Protocol):
    """What these pages ask of the gateway. Refusals are `GatewayError` or `AuditError`."""

    def tick_of(self, instrument: str) -> int:
        """Return one price step of an instrument, in minor units."""

    def note_read(self, reader: Caller, what: str) -> None:
        """Record who reads what, before it is shown."""

    def holds(self) -> HoldList:
        """Return what waits for a person, and what ended last."""

    def sheet_digest(self, caller: Caller, decision_id: str) -> str:
        """Return the digest of what an approver is shown; the read is on record."""

    def would_pass(self, decision_id: str) -> WouldPass | None:
        """Return what would have passed instead of a refused intent, if it is known here."""

    def answer_hold(
        self,
        caller: Caller,
        decision_id: str,
        *,
        approve: bool,
        digests: tuple[str, str],
        note: str,
    ) -> str:
        """Approve or refuse a held decision; return one line for the person.

        `digests` are those of the intent and of the sheet that the person's page showed.
        """


class CaseActions(Protocol):
    """What the pages of cases ask of the gateway."""

    def note_read(self, reader: Caller, what: str) -> None:
        """Record who reads what, before it is shown."""

    def cases(self) -> tuple[CaseLook, ...]:
        """Return the cases on record, newest first."""

    def case(self, case_id: str) -> tuple[CaseLook, str]:
        """Return one case and the draft of a report; raise UnknownDecisionError for none."""


class ReviewActions(Protocol):
    """What the pages of blind reviews ask of the gateway. Refusals are `GatewayError`."""

    def price_unit_of(self, instrument: str) -> tuple[int, str]:
        """Return one price step of an instrument, in minor units, and its currency."""

    def note_read(self, reader: Caller, what: str) -> None:
        """Record who reads what, before it is shown."""

    def reviews(self) -> tuple[ReviewLook, ...]:
        """Return the samples on record, newest first."""

    def review(self, caller: Caller, seq: int) -> tuple[ReviewLook, tuple[ReviewItem, ...]]:
        """Return one sample as this person may see it; raise UnknownDecisionError for none."""

    def answer_review(
        self, caller: Caller, seq: int, decision_id: str, answer: str, note: str
    ) -> str:
        """Record an answer; return one line for the person."""


class ReviewPages:
    """The handlers of blind reviews."""

    def __init__(self, actions: ReviewActions, sheets: Sheets) -> None:
        self._actions = actions
        self._sheets = sheets

    def routes(
        self, guarded: Callable[[Callable[..., Response]], Callable[..., Response]]
    ) -> APIRouter:
        """Return the routes; `guarded` answers while the ledger does not."""
        router, seen = APIRouter(), [Depends(SignedIn(WATCH))]
        one = f"{REVIEWS}/{{seq}}"
        router.add_api_route(REVIEWS, guarded(self.listed), methods=["GET"], dependencies=seen)
        router.add_api_route(one, guarded(self.one), methods=["GET"], dependencies=seen)
        router.add_api_route(
            f"{one}/{{decision_id}}",
            guarded(self.answer),
            methods=["POST"],
            dependencies=[Depends(Posted(WATCH))],
        )
        return router

    def listed(self, request: Request) -> Response:
        """Show the samples, newest first."""
        self._actions.note_read(reader_of(request), "reviews")
        values = {"reviews": self._actions.reviews(), "one": None, "cards": ()}
        return self._sheets.page(request, "reviews.html", values, here=REVIEWS)

    def one(self, request: Request, seq: int) -> Response:
        """Show one sample; the model's answer only beside the person's own."""
        try:
            looked, items = self._actions.review(reader_of(request), seq)
        except GatewayError as error:
            return self._sheets.say(request, "No such review", str(error), 404, back=REVIEWS)
        self._actions.note_read(reader_of(request), f"review/{seq}")
        cards = review_cards(looked, items, self._actions.price_unit_of)
        values = {"reviews": (), "one": looked, "cards": cards}
        return self._sheets.page(request, "reviews.html", values, here=REVIEWS)

    def answer(
        self,
        request: Request,
        seq: int,
        decision_id: str,
        answer: Annotated[str, Form(max_length=10)] = "",
        note: Annotated[str, Form(max_length=500)] = "",
    ) -> Response:
        """Record an answer."""
        say, back = self._sheets.say, f"{REVIEWS}/{seq}"
        try:
            text = self._actions.answer_review(reader_of(request), seq, decision_id, answer, note)
        except (GatewayError, AuditError) as error:
            return say(request, "Not recorded", str(error), 409, back=back)
        return say(request, "Your answer", text, 200, back=back)


class CasePages:
    """The handlers of cases; only reviewers get here."""

    def __init__(self, actions: CaseActions, sheets: Sheets) -> None:
        self._actions = actions
        self._sheets = sheets

    def routes(
        self, guarded: Callable[[Callable[..., Response]], Callable[..., Response]]
    ) -> APIRouter:
        """Return both routes, for reviewers; `guarded` answers while the ledger does not."""
        router = APIRouter(dependencies=[Depends(SignedIn("review"))])
        router.add_api_route(CASES, guarded(self.listed), methods=["GET"])
        router.add_api_route(f"{CASES}/{{case_id}}", guarded(self.one), methods=["GET"])
        return router

    def listed(self, request: Request) -> Response:
        """Show the cases, newest first."""
        self._actions.note_read(reader_of(request), "cases")
        values = {"cases": self._actions.cases(), "one": None, "draft": ""}
        return self._sheets.page(request, "cases.html", values, here=CASES)

    def one(self, request: Request, case_id: str) -> Response:
        """Show one case with its evidence, notes and the draft of a report."""
        try:
            case, draft = self._actions.case(case_id)
        except GatewayError as error:
            return self._sheets.say(request, "No such case", str(error), 404, back=CASES)
        self._actions.note_read(reader_of(request), f"case/{case_id}")
        values = {"cases": (), "one": case, "draft": draft}
        return self._sheets.page(request, "cases.html", values, here=CASES)


class ApprovalPages:
    """The checkpoint's handlers."""

    def __init__(self, actions: ApprovalActions, sheets: Sheets) -> None:
        self._actions = actions
        self._sheets = sheets

    def waiting(self, request: Request) -> Response:
        """Show the orders that wait for a person, and how those before them ended."""
        self._actions.note_read(reader_of(request), "approvals")
        values = {"holds": self._actions.holds()}
        return self._sheets.page(request, "approvals.html", values, here=APPROVALS)

    def answer(
        self,
        request: Request,
        decision_id: str,
        answer: Annotated[str, Form(max_length=10)] = "",
        intent_digest: Annotated[str, Form(max_length=64)] = "",
        sheet_digest: Annotated[str, Form(max_length=64)] = "",
        note: Annotated[str, Form(max_length=500)] = "",
    ) -> Response:
        """Approve or refuse a held decision."""
        say = self._sheets.say
        if answer not in {"approve", "refuse"}:
            text = "Answer with approve or refuse."
            return say(request, "Not recorded", text, 400, back=APPROVALS)
        try:
            text = self._actions.answer_hold(
                reader_of(request),
                decision_id,
                approve=answer == "approve",
                digests=(intent_digest, sheet_digest),
                note=note,
            )
        except (GatewayError, AuditError) as error:
            return say(request, "Approval: refused", str(error), 409, back=APPROVALS)
        return say(request, "Approval", text, 200, back=APPROVALS)


class ScoreActions(Protocol):
    """What the page of scores asks of the gateway."""

    def note_read(self, reader: Caller, what: str) -> None:
        """Record who reads what, before it is shown."""

    def scores(self) -> Scores:
        """Return what the scores on record say."""

    def engine_adds(self, account: str) -> EngineAdds:
        """Return an account against its GJR twin."""


class ScorePages:
    """The handlers of scores and of the account against its GJR twin."""

    def __init__(self, actions: ScoreActions, sheets: Sheets) -> None:
        self._actions = actions
        self._sheets = sheets

    def routes(
        self, guarded: Callable[[Callable[..., Response]], Callable[..., Response]]
    ) -> APIRouter:
        """Return the routes; `guarded` answers while the ledger does not."""
        router, seen = APIRouter(), [Depends(SignedIn(WATCH))]
        router.add_api_route(ADDS, guarded(self.added), methods=["GET"], dependencies=seen)
        router.add_api_route(SCORES, guarded(self.shown), methods=["GET"], dependencies=seen)
        return router

    def shown(self, request: Request) -> Response:
        """Show how forecasts did against the bars that came."""
        view = score_view(self._actions.scores())
        self._actions.note_read(reader_of(request), "scores")
        return self._sheets.page(request, "scores.html", {"view": view}, here="/ledger")

    def added(
        self, request: Request, account: Annotated[str, Query(max_length=100)] = ""
    ) -> Response:
        """Show an account against its GJR twin: scale, words, execution."""
        view = self._actions.engine_adds(account).document()
        self._actions.note_read(reader_of(request), "engine adds")
        return self._sheets.page(request, "engine_adds.html", {"view": view}, here="/ledger")


class PolicyPages:
    """The handler of the policy in force."""

    def __init__(self, actions: ScoreActions, sheets: Sheets, views: Views) -> None:
        self._actions = actions
        self._sheets = sheets
        self._views = views

    def routes(
        self, guarded: Callable[[Callable[..., Response]], Callable[..., Response]]
    ) -> APIRouter:
        """Return the route; `guarded` answers while the ledger does not."""
        router, seen = APIRouter(), [Depends(SignedIn(WATCH))]
        router.add_api_route(POLICY, guarded(self.shown), methods=["GET"], dependencies=seen)
        return router

    def shown(self, request: Request) -> Response:
        """Show the policy in force, where its numbers come from, and the trials on record."""
        view = policy_view(self._views.reader)
        self._actions.note_read(reader_of(request), "policy")
        return self._sheets.page(request, "policy.html", {"view": view}, here="/ledger")


class ActPageActions(Protocol):
    """What the page of own publications asks of the gateway."""

    def note_read(self, reader: Caller, what: str) -> None:
        """Record who reads what, before it is shown."""

    def own_acts(self) -> Mapping[str, Sequence[dict[str, Any]]]:
        """Return `publications`, `justifications` and `swaps`, newest first."""


class ActPages:
    """The handlers of own publications and of justifications."""

    def __init__(self, actions: ActPageActions, sheets: Sheets) -> None:
        self._actions = actions
        self._sheets = sheets

    def routes(
        self, guarded: Callable[[Callable[..., Response]], Callable[..., Response]]
    ) -> APIRouter:
        """Return both routes; `guarded` answers while the ledger does not."""
        router, seen = APIRouter(), [Depends(SignedIn(WATCH))]
        for path, handler in ((PUBLICATIONS, self.shown), (JUSTIFICATIONS, self.registry)):
            router.add_api_route(path, guarded(handler), methods=["GET"], dependencies=seen)
        return router

    def shown(self, request: Request) -> Response:
        """Show what the firm itself published."""
        values = dict(self._actions.own_acts())
        self._actions.note_read(reader_of(request), "publications")
        return self._sheets.page(request, "publications.html", values, here="/ledger")

    def registry(self, request: Request) -> Response:
        """Show the registry of justifications."""
        values = dict(self._actions.own_acts())
        self._actions.note_read(reader_of(request), "justifications")
        return self._sheets.page(request, "justifications.html", values, here="/ledger")


class AlarmPages:
    """The handler of the page of alarms."""

    def __init__(self, actions: ActPageActions, sheets: Sheets) -> None:
        self._actions = actions
        self._sheets = sheets

    def routes(
        self, guarded: Callable[[Callable[..., Response]], Callable[..., Response]]
    ) -> APIRouter:
        """Return the route; `guarded` answers while the ledger does not."""
        router, seen = APIRouter(), [Depends(SignedIn(WATCH))]
        router.add_api_route(ALARMS, guarded(self.shown), methods=["GET"], dependencies=seen)
        return router

    def shown(self, request: Request) -> Response:
        """Show every alarm, the raised ones first; without a running gateway there are none."""
        running: Alarms | None = getattr(request.app.state, "alarms", None)
        self._actions.note_read(reader_of(request), "alarms")
        lines = None if running is None else running.lines()
        told = running is not None and running.webhook is not None
        values = {"lines": lines, "told": told}
        return self._sheets.page(request, "alarms.html", values, here=ALARMS)


class OversightActions(
    ApprovalActions, CaseActions, ReviewActions, ScoreActions, ActPageActions, Protocol
):
    """What all of these pages ask of the gateway."""


def oversight_routes(
    actions: OversightActions,
    sheets: Sheets,
    guarded: Callable[[Callable[..., Response]], Callable[..., Response]],
    views: Views,
) -> APIRouter:
    """Return the routes of cases, reviews, scores, own publications and the policy."""
    router = APIRouter()
    router.include_router(PolicyPages(actions, sheets, views).routes(guarded))
    for pages in (CasePages, ReviewPages, ScorePages, ActPages, AlarmPages):
        router.include_router(pages(actions, sheets).routes(guarded))
    return router
