"""GET /v1/events: what happens next, as server-sent events with the record's number as id."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request
from fastapi.responses import Response

from audit.records.record import Record
from gateway.desk.agents.happenings import HAPPENING_KINDS, happening, owner_of
from gateway.desk.desk import Desk
from gateway.desk.intake.reads import HOUR_S
from gateway.errors import RequestError
from gateway.installation.keys.keyring import Caller, Keyring
from gateway.installation.keys.roles import Role
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.access.refusals import AccessReason, Refusals
from gateway.surfaces.following import LIFE_S, EventStream, Following, TooManyError

router = APIRouter(prefix="/v1", tags=["events"])
SEQ_MAX: Final = 2**53 - 1
_Number = Annotated[int | None, Query(ge=0, le=SEQ_MAX, description="as Last-Event-ID")]


@router.get("/events", summary="Follow what happens to your decisions", response_class=Response)
async def events(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("follow"))],
    after: _Number = None,
    wait_s: Annotated[
        float, Query(ge=0, le=LIFE_S, description="0: tell what is there and end")
    ] = LIFE_S,
    last_event_id: Annotated[str, Header(pattern=r"^[0-9]{0,16}$")] = "",
) -> Response:
    """Send events behind `Last-Event-ID` (or `after`; without both, from now on), as they happen.

    An agent sees its own decisions; operators, approvers and auditors see all.
    """
    state = request.app.state
    desk: Desk = state.desk
    following: Following = state.following
    size = await following.size()
    known = int(last_event_id) if last_event_id else size - 1 if after is None else after
    if known > max(size - 1, 0):
        raise RequestError(problem=f"record {known} is not on record; the newest is {size - 1}")
    note = partial(desk.reads.note, caller, "events", window_s=HOUR_S)
    await to_thread.run_sync(note)
    place = ExitStack()
    try:
        place.enter_context(following.place(caller.name, person=caller.role is not Role.AGENT))
    except TooManyError:
        refusals: Refusals = state.refusals
        refusals.count(caller.name, AccessReason.TOO_MANY_STREAMS)
        message = "too many open event streams: close one, or wait"
        raise HTTPException(429, detail={"code": "too_many_streams", "message": message}) from None
    told = following.events(
        known,
        HAPPENING_KINDS,
        partial(_told_to, caller),
        wait_s=wait_s,
        welcome=partial(_welcome, state.keyring, caller),
    )
    return EventStream(told, place)


def _told_to(caller: Caller, record: Record) -> Mapping[str, Any] | None:
    if not caller.sees(owner_of(record)):
        return None  # before it is read: most records are of others
    found = happening(record)
    return None if found is None else found.document()


def _welcome(keyring: Keyring, caller: Caller) -> bool:
    """Return whether the caller's key still is what it was."""
    return keyring.caller(caller.name) == caller
