"""The state read back from its document, for replay in another process.

Not here: writing it (`risk/state/state.py`, because the digest needs that).
"""

from inference.forecast.forecast import Forecast, forecast_from_document
from risk.canonical import Reader
from risk.errors import DocumentError
from risk.policy.signing import PolicyStanding, PolicyStatus
from risk.state.book_document import book_from_document
from risk.state.instrument import instrument_from_document
from risk.state.state import KillState, Phase, Quote, RiskState, SeenIntent


def state_from_document(document: object) -> RiskState:
    """Read a state back.

    Raises:
        DocumentError: Not a state's document.
        inference.errors.ForecastError: The forecast in it does not parse.
    """
    read = Reader(document)
    quote = read.inner("quote")
    state = RiskState(
        now_us=read.number("now_us"),
        book=book_from_document(read.inner("book")),
        instrument=instrument_from_document(read.inner("instrument")),
        quote=None if quote is None else quote_from_document(quote),
        forecast=_forecast(read.inner("forecast")),
        narrative_as_of_us=read.maybe_number("narrative_as_of_us"),
        kill=_kill(read.inner("kill")),
        recent=tuple(seen_from_document(item) for item in read.items("recent")),
        policy_status=policy_status_from_document(read.inner("policy_status")),
        renewal=read.flag("renewal"),
        book_differs=read.has("book_differs") and read.flag("book_differs"),
    )
    read.done()
    return state


def quote_from_document(document: object) -> Quote:
    """Read a quote back.

    Raises:
        DocumentError: Not a quote's document.
    """
    read = Reader(document)
    try:
        phase = Phase(read.text("phase"))
    except ValueError:
        raise DocumentError("unknown phase") from None
    quote = Quote(
        bid_ticks=read.number("bid_ticks"),
        ask_ticks=read.number("ask_ticks"),
        time_us=read.number("time_us"),
        seq_gap=read.number("seq_gap"),
        phase=phase,
    )
    read.done()
    return quote


def policy_status_from_document(document: object) -> PolicyStatus:
    """Read a policy status back.

    Raises:
        DocumentError: Not a status's document.
    """
    read = Reader(document)
    try:
        standing = PolicyStanding(read.text("standing"))
    except ValueError:
        raise DocumentError("unknown standing") from None
    status = PolicyStatus(
        policy_digest=read.text("policy_digest"),
        standing=standing,
        checked_at_us=read.number("checked_at_us"),
        signed_by=tuple(Reader({"item": item}).text("item") for item in read.items("signed_by")),
    )
    read.done()
    return status


def seen_from_document(document: object) -> SeenIntent:
    """Read an entry of the history back.

    Raises:
        DocumentError: Not an entry's document.
    """
    read = Reader(document)
    entry = SeenIntent(
        decision_id=read.text("decision_id"),
        intent_digest=read.text("intent_digest"),
        fingerprint=read.text("fingerprint"),
        time_us=read.number("time_us"),
    )
    read.done()
    return entry


def _forecast(document: object) -> Forecast | None:
    if document is None:
        return None
    if type(document) is not dict:
        raise DocumentError("forecast is not an object")
    return forecast_from_document(document)


def _kill(document: object) -> KillState:
    read = Reader(document)
    kill = KillState(
        killed=read.flag("killed"),
        kill_epoch=read.number("kill_epoch"),
        egress_epoch=read.number("egress_epoch"),
    )
    read.done()
    return kill
