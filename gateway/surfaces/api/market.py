"""POST /v1/market/quotes, /bars, /events: what feeds deliver; one item, a list, or one a line."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from gateway.desk.desk import Desk
from gateway.errors import IntakeError, RequestError
from gateway.feeds.live.items import BARS, QUOTES, PostedBar, PostedQuote, parse
from gateway.feeds.live.series import Item
from gateway.feeds.news.posted import EVENTS, EventItem, PostedEvent, parse_event
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.access.bearer import allowed
from gateway.surfaces.api.bodies import StrictRoute, each_key_once
from risk.state.instrument import Instrument

router = APIRouter(prefix="/v1/market", tags=["market"], route_class=StrictRoute)
LINES: Final = ("application/x-ndjson", "application/ndjson", "application/jsonl")


def _body(model: type[BaseModel]) -> dict[str, Any]:
    one = model.model_json_schema()
    many = {"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    content = {"application/json": {"schema": many}, LINES[0]: {"schema": {"type": "string"}}}
    return {"requestBody": {"required": True, "content": content}}


@router.post("/quotes", summary="Deliver quotes", openapi_extra=_body(PostedQuote))
async def quotes(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("feed"))],  # noqa: ARG001 - the door
) -> dict[str, Any]:
    """Take quotes in order; the same item again is a repeat, another under its sequence refused."""
    return await _take(request, QUOTES)


@router.post("/bars", summary="Deliver closed daily bars", openapi_extra=_body(PostedBar))
async def bars(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("feed"))],  # noqa: ARG001 - the door
) -> dict[str, Any]:
    """Take closed bars; one that was missed may come later under its own sequence."""
    return await _take(request, BARS)


@router.post("/events", summary="Deliver dated events", openapi_extra=_body(PostedEvent))
async def events(
    request: Request,
    caller: Annotated[Caller, Depends(allowed("feed"))],  # noqa: ARG001 - the door
) -> dict[str, Any]:
    """Take events, or a source's word that it is complete up to a time (`complete_us`)."""
    return await _take(request, EVENTS)


async def _take(request: Request, feed: str) -> dict[str, Any]:
    desk: Desk = request.app.state.desk
    feeding = desk.own.feeding
    if feeding is None:
        raise RequestError(problem="this gateway plays its own market; feeds deliver to `serve`")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    word = "line" if kind in LINES else "item"
    values = _lines(await request.body()) if kind in LINES else _values(await request.body())
    known = desk.own.instruments
    items = [_item(f"{word} {place}", feed, value, known) for place, value in values]
    if not items:
        raise _malformed("body", "", "holds no item")
    return await to_thread.run_sync(partial(feeding.take, feed, items))


def _values(body: bytes) -> list[tuple[int, Any]]:
    value = _parsed(body, "body")
    return list(enumerate(value if isinstance(value, list) else [value], start=1))


def _lines(body: bytes) -> list[tuple[int, Any]]:
    lines = enumerate(body.split(b"\n"), start=1)
    return [(number, _parsed(line, f"line {number}")) for number, line in lines if line.strip()]


def _parsed(text: bytes, where: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text, object_pairs_hook=each_key_once)
    except (ValueError, RecursionError) as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise _malformed(where, "", f"is not JSON: {said}") from None


def _item(
    where: str, feed: str, value: object, instruments: Mapping[str, Instrument]
) -> Item | EventItem:
    try:
        return parse_event(value) if feed == EVENTS else parse(feed, value, instruments)
    except IntakeError as error:
        raise _malformed(where, *error.told) from None


def _malformed(where: str, field: str, problem: str) -> RequestValidationError:
    place = (where, field) if field else (where,)
    return RequestValidationError([{"loc": place, "msg": problem, "type": "value_error"}])
