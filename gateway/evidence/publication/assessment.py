"""The yearly self-assessment of RTS 6 art. 9 as Markdown: each sentence resolves to records.

A sentence names the numbers of the records that it rests on, or says "not covered". It counts what
is on record; whether the firm's procedures are adequate is a person's judgement.

Source: Commission Delegated Regulation (EU) 2017/589, art. 9 and Annex I.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.walk.journal.control.modes import ModeEntered

SHOWN: Final = 5
"""Record numbers that a sentence shows, the newest ones."""


def _always(_: Record) -> bool:
    return True


def _served(record: Record) -> bool:
    """Return whether persons acted: a development run has every key on one machine."""
    return not record.body.get("dev", False)


def _changes_mode(record: Record) -> bool:
    """Return whether the mode changed, and not only its account, session or limits."""
    entered = ModeEntered.of(record)
    return entered.mode != entered.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of the assessment: the article, what a sentence counts, and the kinds that show it.

    `what` is empty where the product has no record of the topic. `counts` leaves out records of
    these kinds of which the sentence would be false.
    """

    article: str
    title: str
    what: str = ""
    kinds: tuple[Kind, ...] = ()
    counts: Callable[[Record], bool] = _always


TOPICS: Final = (
    Topic(
        article="4",
        title="Governance of limits",
        what="activations, at starts and changes, of policies that two officers signed",
        kinds=(Kind.POLICY_ACTIVATED,),
        counts=_served,
    ),
    Topic(
        article="5-7",
        title="Testing before deployment",
        what="tests of model pairs by the promotion gate and trials of policies",
        kinds=(Kind.PROMOTION_TESTED, Kind.POLICY_TRIED),
    ),
    Topic(
        article="8",
        title="Controlled deployment: changes of mode",
        what="changes of mode, the first mode included",
        kinds=(Kind.MODE_ENTERED,),
        counts=_changes_mode,
    ),
    Topic(article="10", title="Stress testing"),
    Topic(
        article="11",
        title="Material changes",
        what="registrations of code, model, policy, dictionary, profile and instruments",
        kinds=(Kind.DIGESTS_REGISTERED,),
    ),
    Topic(
        article="12",
        title="Kill functionality",
        what="presses of the kill",
        kinds=(Kind.KILL_PRESSED,),
    ),
    Topic(
        article="12",
        title="Kill functionality, rehearsed",
        what="drills of the kill",
        kinds=(Kind.KILL_DRILLED,),
    ),
    Topic(
        article="12",
        title="Cancelling orders",
        what="requests to cancel every order",
        kinds=(Kind.CANCEL_ALL_ASKED,),
    ),
    Topic(
        article="12",
        title="Closing positions",
        what="requests to close positions",
        kinds=(Kind.FLATTEN_ASKED,),
    ),
    Topic(
        article="13",
        title="Surveillance for market abuse",
        what="cases opened",
        kinds=(Kind.CASE_OPENED,),
    ),
    Topic(
        article="14",
        title="Business continuity: restored ledgers",
        what="restores from a backup",
        kinds=(Kind.LEDGER_RESTORED,),
    ),
    Topic(
        article="15",
        title="Pre-trade controls",
        what="verdicts of the rules",
        kinds=(Kind.VERDICT_GIVEN,),
    ),
    Topic(
        article="15(6)",
        title="Orders that a person approved",
        what="approvals by persons",
        kinds=(Kind.APPROVAL_GIVEN,),
    ),
    Topic(
        article="16",
        title="Stops",
        what="stops begun, by persons or by the gateway's circuit breaker",
        kinds=(Kind.STOP_BEGUN,),
    ),
    Topic(
        article="17",
        title="Post-trade controls",
        what="records of how book and broker differ, or agree again",
        kinds=(Kind.BOOK_DIFFERENCE,),
    ),
    Topic(
        article="17",
        title="Post-trade controls, resolved",
        what="resolutions by persons",
        kinds=(Kind.DIFFERENCE_RESOLVED,),
    ),
    Topic(
        article="18",
        title="Security: refused access",
        what="records of refused callers",
        kinds=(Kind.ACCESS_REFUSED,),
    ),
    Topic(
        article="18",
        title="Security: keys",
        what="changes and revocations of the log's key",
        kinds=(Kind.KEY_ROTATED, Kind.KEY_REVOKED),
    ),
)


def assessment(records: Iterable[Record], *, origin: str, since_us: int, until_us: int) -> str:
    """Return the assessment of the records from `since_us` on and before `until_us`, Markdown."""
    found: list[list[int]] = [[] for _ in TOPICS]
    for record in records:
        if since_us <= record.recorded_at_us < until_us:
            for topic, seqs in zip(TOPICS, found, strict=True):
                if record.kind in topic.kinds and topic.counts(record):
                    seqs.append(record.seq)
    return "".join(f"{line}\n" for line in _lines(found, origin, since_us, until_us))


def assess_year(reader: LedgerReader, origin: str, year: int) -> str:
    """Return the assessment of one calendar year, UTC."""
    kinds = sorted({kind for topic in TOPICS for kind in topic.kinds})
    since, until = (int(datetime(y, 1, 1, tzinfo=UTC).timestamp()) for y in (year, year + 1))
    return assessment(
        reader.records(kinds=kinds),
        origin=origin,
        since_us=since * 1_000_000,
        until_us=until * 1_000_000,
    )


def _lines(found: list[list[int]], origin: str, since_us: int, until_us: int) -> Iterator[str]:
    yield f"# Self-assessment under RTS 6 art. 9: {origin}"
    yield ""
    yield (
        f"Records from {since_us} to {until_us} (microseconds UTC). Each sentence names the records"
        " that it rests on; `countersign show` and `countersign prove` show them. This text counts"
        " what is on record; its judgement is the assessor's."
    )
    for topic, seqs in zip(TOPICS, found, strict=True):
        yield ""
        yield f"## Art. {topic.article}: {topic.title}"
        yield ""
        yield _sentence(topic, seqs)


def _sentence(topic: Topic, seqs: list[int]) -> str:
    if not topic.kinds:
        return "Not covered: the gateway keeps no record of this."
    if not seqs:
        return f"Not covered: there are no {topic.what} on record in this time."
    newest = ", ".join(str(seq) for seq in seqs[-SHOWN:])
    which = "records" if len(seqs) <= SHOWN else f"the newest {SHOWN} of them: records"
    return f"There are {len(seqs)} {topic.what} on record ({which} {newest})."
