"""What is asked of the broker, what came of it, and what is wrong. Pure: times are arguments.

Not here: the session, the book of one instrument (`book`).

Rules:

- Each logon asks for each symbol anew, under a new MDReqID (262); an answer to an older one is
  ignored.
- What cannot be believed (an unknown entry, a message that is garbled, messages lost by the
  session) ends the request, tells the gateway at once and asks again, at most once in 5 s.
- A refusal (Y, j, 3) is told with its reason, and asked again after the profile's time.
- Changes before a snapshot are ignored: nobody knows what they change.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from fix.dialects.market_data import EventTime, MarketData
from fix.errors import FixError
from fix.feed.book import Top, TopOfBook
from fix.session.link import Frame
from fix.wire.market_data import BookEntry, BookMessage, RequestRefused, read_answer, request
from fix.wire.messages import Fields

AGAIN_US: Final = 5_000_000
DOWN, REFUSED, INCOMPLETE, SILENT = "down", "refused", "incomplete", "silent"
_SECOND_US: Final = 1_000_000


class Ask(NamedTuple):
    """A request to send, with its MDReqID."""

    request_id: str
    fields: Fields


@dataclass(slots=True)
class _Wanted:
    """One symbol. `due_us` is when it is asked next, None while a request stands."""

    symbol: str
    book: TopOfBook = field(default_factory=TopOfBook)
    begun: bool = False
    request_id: str = ""
    asked_us: int = 0
    due_us: int | None = None
    number: int = 0
    told: str = ""


class Subscriptions:
    """The requests of one process; instruments by the broker's symbol."""

    def __init__(
        self,
        rules: MarketData,
        symbols: tuple[str, ...],
        *,
        prefix: str,
        before_44: bool,
        currencies: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Begin without a logon; `prefix` makes the MDReqIDs of this process differ from others.

        `currencies` are those of the symbols' prices; a price in another one is not believed.
        """
        self._rules, self._prefix, self._before_44 = rules, prefix, before_44
        self._lines = {
            symbol: _Wanted(symbol, TopOfBook(currencies.get(symbol, ""))) for symbol in symbols
        }
        self._by_request: dict[str, _Wanted] = {}
        self._by_number: dict[int, str] = {}
        self._asked = 0
        self._sent: deque[int] = deque()
        self._on = False

    def logged_on(self, now_us: int) -> None:
        """Ask for everything; what was asked before is forgotten."""
        self._on = True
        self._by_request.clear()
        self._by_number.clear()
        for line in self._lines.values():
            line.begun, line.request_id, line.due_us = False, "", now_us

    def logged_off(self, why: str) -> Iterator[Frame]:
        """Yield that nothing comes any more."""
        self._on = False
        for line in self._lines.values():
            line.begun, line.due_us = False, None
            yield _trouble(line, DOWN, why)

    def lost(self, why: str, now_us: int) -> Iterator[Frame]:
        """Yield that messages were lost: every book may lack a change."""
        for line in self._lines.values():
            if line.begun or (line.request_id and line.due_us is None):
                yield self._doubt(line, why, now_us)

    def due(self, now_us: int) -> Iterator[Ask]:
        """Yield the requests to send now, at the profile's rate."""
        while self._sent and now_us - self._sent[0] >= _SECOND_US:
            self._sent.popleft()
        for line in self._lines.values() if self._on else ():
            if line.due_us is None or now_us < line.due_us:
                continue
            if len(self._sent) >= self._rules.requests_per_s:
                return
            self._sent.append(now_us)
            if line.request_id:  # it may still deliver
                yield Ask(line.request_id, self._fields(line.request_id, line, ends=True))
                self._by_request.pop(line.request_id, None)
            self._asked += 1
            line.request_id = f"{self._prefix}-{self._asked}"
            line.begun, line.asked_us, line.due_us, line.told = False, now_us, None, ""
            self._by_request[line.request_id] = line
            yield Ask(line.request_id, self._fields(line.request_id, line))

    def sent(self, request_id: str, number: int) -> None:
        """Note under which MsgSeqNum a request left, for a reject that names only that."""
        self._by_number[number] = request_id

    def unanswered(self, now_us: int) -> Iterator[Frame]:
        """Yield which requests the broker has not answered; each is asked again later."""
        for line in self._lines.values() if self._on else ():
            waits = line.due_us is None and not line.begun and bool(line.request_id)
            if waits and now_us - line.asked_us >= self._rules.answer_s * _SECOND_US:
                line.due_us = now_us + self._rules.retry_s * _SECOND_US
                yield _trouble(line, SILENT, f"no answer to 35=V in {self._rules.answer_s} s")

    def received(self, raw: str, now_us: int) -> Iterator[Frame]:
        """Yield quotes and what is wrong, from one message."""
        try:
            answer = read_answer(raw)
        except FixError as error:
            yield from self.lost(str(error), now_us)
            return
        if isinstance(answer, RequestRefused):
            yield from self._refused(answer, now_us)
        elif answer is not None:
            yield from self._books(answer, now_us)

    def _refused(self, answer: RequestRefused, now_us: int) -> Iterator[Frame]:
        named = answer.request_id or self._by_number.get(answer.number, "")
        line = self._by_request.get(named)
        if line is not None:
            line.begun, line.request_id = False, ""
            self._by_request.pop(named)
            line.due_us = now_us + self._rules.retry_s * _SECOND_US
            yield _trouble(line, REFUSED, answer.reason)

    def _books(self, answer: BookMessage, now_us: int) -> Iterator[Frame]:
        asked = self._by_request.get(answer.request_id)
        if answer.request_id and asked is None:
            return  # of a request that has ended
        named = answer.symbol or (asked.symbol if asked else "")
        if answer.whole:
            parts: Mapping[str, list[BookEntry]] = {named: list(answer.entries)}
        else:
            parts = _by_symbol(answer.entries, named)
        for symbol, entries in parts.items():
            line = self._lines.get(symbol)
            if line is None or line.due_us is not None or not (answer.whole or line.begun):
                continue
            wrong = line.book.replace(entries) if answer.whole else line.book.change(entries)
            if wrong:
                yield self._doubt(line, wrong, now_us)
                continue
            line.begun = True
            if frame := self._told(line, answer, entries):
                yield frame

    def _told(self, line: _Wanted, answer: BookMessage, entries: list[BookEntry]) -> Frame | None:
        """Return the quote that stands now, or that a side is missing, once."""
        top = line.book.top
        if top is not None:
            line.told = ""
            return self._quote(line, top, self._event_us(answer, entries))
        lacking = line.book.lacking
        if line.told == lacking:
            return None
        line.told = lacking
        return _trouble(line, INCOMPLETE, lacking)

    def _quote(self, line: _Wanted, top: Top, event_us: int) -> Frame:
        line.number += 1
        return {
            "ev": "quote",
            "symbol": line.symbol,
            "number": line.number,
            "event_us": event_us,
            "bid": top.bid,
            "ask": top.ask,
            "last": top.last,
        }

    def _event_us(self, answer: BookMessage, entries: list[BookEntry]) -> int:
        times = [one.event_us for one in entries if one.event_us is not None]
        if answer.whole or self._rules.event_time is EventTime.SENDING or not times:
            return answer.sent_us
        return max(times)

    def _doubt(self, line: _Wanted, why: str, now_us: int) -> Frame:
        line.begun = False
        line.due_us = max(now_us, line.asked_us + AGAIN_US)
        return _trouble(line, INCOMPLETE, why)

    def _fields(self, request_id: str, line: _Wanted, *, ends: bool = False) -> Fields:
        return request(
            request_id, line.symbol, self._rules.updates, before_44=self._before_44, ends=ends
        )


def _by_symbol(entries: tuple[BookEntry, ...], named: str) -> Mapping[str, list[BookEntry]]:
    """Return the entries by their symbol; one without a symbol has that of the one before it."""
    parts: dict[str, list[BookEntry]] = {}
    symbol = named
    for entry in entries:
        symbol = entry.symbol or symbol
        parts.setdefault(symbol, []).append(entry)
    return parts


def _trouble(line: _Wanted, what: str, detail: str) -> Frame:
    return {"ev": "trouble", "symbol": line.symbol, "what": what, "detail": detail[:300]}
