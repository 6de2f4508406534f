"""Dated events as a feed posts them, and its word that they are complete.

Not here: up to when the narrative is complete (`fed`). Text never becomes a token: a model sees the
closed words of type, direction, strength and age only.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.feeds.live.items import Sequence, Source, TimeUs, refused
from gateway.feeds.text import refuse_hidden_text
from inference.snapshot import MAX_TICKS, Direction, EventType, NewsItem, Strength
from risk.intent import Symbol

EVENTS: Final = "events"
ALL: Final = "*"
"""The instrument of an item that is not about one."""
Short = Annotated[str, Field(min_length=1, max_length=500)]


class PostedEvent(BaseModel):
    """A dated event as posted; `scheduled` ones may be posted before their time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Source
    sequence: Sequence
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{2,63}$", description="the event's name")]
    published_us: TimeUs
    event_type: EventType
    direction: Direction = Direction.NEUTRAL
    strength: Strength = Strength.WEAK
    source_tier: Annotated[int, Field(ge=1, le=3, strict=True, description="1 is the best")] = 3
    headline: Short
    origin: Annotated[Short, Field(description="who published it, and where")]
    scheduled: Annotated[bool, Field(strict=True, description="known ahead, of a calendar")] = False
    instruments: Annotated[
        tuple[Symbol, ...],
        Field(max_length=100, description="symbols that it is about; none: all"),
    ] = ()


class PostedComplete(BaseModel):
    """A source's word: everything published up to a time has been posted, through a sequence."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    source: Source
    complete_us: TimeUs
    through: Annotated[int, Field(ge=0, le=MAX_TICKS, description="last sequence, 0 if none")]
    ends: Annotated[bool, Field(description="this source ends: wait for it no longer")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventItem:
    """An event, or a word of completeness; `event_us` is its time.

    Attributes:
        sequence: of an event; of a word, the sequence through which it is complete.
        news: the event as a snapshot has it; None for a word.
        instruments: what it is about; empty for all.
        document: the event as posted (JSON), to be kept; empty for a word.
    """

    source: str
    sequence: int
    event_us: int
    news: NewsItem | None
    scheduled: bool = False
    ends: bool = False
    instruments: tuple[str, ...] = ()
    document: str = ""

    @property
    def instrument(self) -> str:
        """What a condition on record calls it."""
        return ALL


def parse_event(value: object) -> EventItem:
    """Return an event or a word of completeness from a JSON value.

    Raises:
        IntakeError: the value is malformed; `where` is the field.
    """
    word = isinstance(value, dict) and "complete_us" in value
    model: type[PostedEvent | PostedComplete] = PostedComplete if word else PostedEvent
    try:
        posted = model.model_validate(value)
    except ValidationError as error:
        raise refused(error) from None
    if isinstance(posted, PostedComplete):
        return EventItem(
            source=posted.source,
            sequence=posted.through,
            event_us=posted.complete_us,
            news=None,
            ends=posted.ends,
        )
    for where, text in (("headline", posted.headline), ("origin", posted.origin)):
        refuse_hidden_text(text, where=where)
    return EventItem(
        source=posted.source,
        sequence=posted.sequence,
        event_us=posted.published_us,
        news=NewsItem(
            event_id=posted.id,
            published_us=posted.published_us,
            event_type=posted.event_type,
            direction=posted.direction,
            strength=posted.strength,
            source_tier=posted.source_tier,
            headline=posted.headline,
            source=posted.origin,
        ),
        scheduled=posted.scheduled,
        instruments=posted.instruments,
        document=posted.model_dump_json(),
    )
