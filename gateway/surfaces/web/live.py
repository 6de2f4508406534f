"""Pages that keep themselves fresh, for a person who asks for it with `?live=1`.

Every page is complete without it, and without `live=1` no page has a script. `/live` says only that
something happened; the page then asks for itself again, through its own door.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, Final

from fastapi import HTTPException, Query, Request
from fastapi.responses import Response

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.agents.happenings import HAPPENING_KINDS
from gateway.surfaces.access.refusals import AccessReason, Refusals
from gateway.surfaces.following import LIFE_S, EventStream, Following, TooManyError
from gateway.surfaces.web.doors import Entrance, Person, person_of, reader_of
from gateway.surfaces.web.pages.table import PAGES

LIVE_PAGES: Final = frozenset(one.path for one in PAGES if one.fresh)
CHANGES: Final = (
    *HAPPENING_KINDS,
    Kind.MARK_TAKEN,
    Kind.FEED_CONDITION,
    Kind.SESSION_EVENT,
    Kind.BOOK_DIFFERENCE,
    Kind.DIFFERENCE_RESOLVED,
    Kind.KILL_PRESSED,
    Kind.KILL_OUTCOME,
    Kind.KILL_RELEASED,
)


def is_live(request: Request, here: str) -> bool:
    """Return whether a person asked for a page that keeps itself fresh."""
    return here in LIVE_PAGES and request.query_params.get("live") == "1"


def toggled(request: Request) -> str:
    """Return the page's query with `live=1`, or without it where it is set."""
    if request.query_params.get("live") == "1":
        return f"?{request.url.remove_query_params('live').query}"
    return f"?{request.url.include_query_params(live=1).query}"


async def live(
    request: Request, wait_s: Annotated[float, Query(ge=0, le=LIFE_S)] = LIFE_S
) -> Response:
    """Send an event whenever something happened, until the person signs out."""
    following: Following = request.app.state.following
    entrance: Entrance = request.app.state.entrance
    person, place = person_of(request), ExitStack()
    try:
        place.enter_context(following.place(reader_of(request).name, person=True))
    except TooManyError:
        refusals: Refusals = entrance.refusals
        refusals.count(reader_of(request).name, AccessReason.TOO_MANY_STREAMS)
        message = "too many live pages: close one"
        raise HTTPException(429, detail={"code": "too_many_streams", "message": message}) from None
    told = following.events(
        await following.size() - 1,
        CHANGES,
        _changed,
        wait_s=wait_s,
        welcome=partial(_signed_in, entrance, person),
    )
    return EventStream(told, place)


def _changed(record: Record) -> Mapping[str, Any]:
    return {"seq": record.seq, "event": "changed"}


def _signed_in(entrance: Entrance, person: Person | None) -> bool:
    if person is None:
        return False
    if not person.session:
        return entrance.keyring.caller(person.caller.name) == person.caller
    return entrance.sessions.caller(person.session, used=False) is not None
