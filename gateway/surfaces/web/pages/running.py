"""What the running gateway knows from memory: session, feeds, alarms; and where it is stopped."""

from collections.abc import Mapping
from typing import Final

from gateway.desk.officers.forecasts import forecasts_document
from gateway.feeds.live.overview import overview
from gateway.surfaces.web.doors import KILL
from gateway.surfaces.web.pages.buttons import STOPPING
from gateway.surfaces.web.pages.page import NOTHING, AskedPage, Page
from gateway.telemetry.alarms.alarms import Alarms


def _session(asked: AskedPage) -> Mapping[str, object]:
    """Return the FIX session's state: numbers, gaps, throttle, last messages."""
    return {"session": asked.desk.own.session()}


def _feeds(asked: AskedPage) -> Mapping[str, object]:
    """Return what each source delivered: age, sequence, gaps, lag, condition, bars held."""
    return {"feeds": overview(asked.desk.own.market, asked.desk.own.instruments)}


def _forecasts(asked: AskedPage) -> Mapping[str, object]:
    """Return each instrument's newest forecast, from its records."""
    return forecasts_document(asked.desk.own)


def _alarms(asked: AskedPage) -> Mapping[str, object]:
    """Return every alarm, the raised ones first; without a running gateway there are none."""
    running: Alarms | None = getattr(asked.state, "alarms", None)
    return {
        "lines": None if running is None else running.lines(),
        "told": running is not None and running.webhook is not None,
    }


def _kill(_: AskedPage) -> Mapping[str, object]:
    return {"stopping": STOPPING}


RUNNING: Final = (
    Page(
        path="/session",
        title="Session",
        reader=_session,
        template="session.html",
        noted="session",
        menu=True,
        fresh=True,
    ),
    Page(
        path="/feeds",
        title="Feeds",
        reader=_feeds,
        template="feeds.html",
        noted="feeds",
        menu=True,
    ),
    Page(
        path="/forecasts",
        title="Forecasts",
        reader=_forecasts,
        template="forecasts.html",
        noted="forecasts",
        menu=True,
    ),
    Page(
        path="/alarms",
        title="Alarms",
        reader=_alarms,
        template="alarms.html",
        noted="alarms",
        menu=True,
    ),
    Page(
        path=KILL,
        title="Kill",
        reader=_kill,
        template="kill.html",
        noted=f"{NOTHING}: the form only",
    ),
)
