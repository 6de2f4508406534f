"""The events of 2018, and their conversion to news items.

Not here: which events a decision may see (`gateway.feeds.sessions`).
"""

from pathlib import Path

from gateway.feeds.intake import DatedEvent, parse_events
from inference.snapshot import Direction, EventType, NewsItem, Strength

EVENTS_FILE = Path(__file__).with_name("events_2018.json")


def load_events() -> tuple[DatedEvent, ...]:
    """Return the events in order of publication.

    Raises:
        IntakeError: the file is malformed.
    """
    return tuple(parse_events(EVENTS_FILE.read_bytes(), name=EVENTS_FILE.name).events)


def news_item(event: DatedEvent) -> NewsItem:
    """Return the event as a snapshot carries it: tags, headline and the name of its source."""
    return NewsItem(
        event_id=event.id,
        published_us=event.published_us,
        event_type=EventType[event.event_type],
        direction=Direction[event.direction.upper()],
        strength=Strength[event.strength.upper()],
        source_tier=event.source_tier,
        headline=event.headline,
        source=f"{event.source.institution}: {event.source.document}",
    )
