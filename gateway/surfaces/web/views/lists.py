"""Ledger records to what the pages show; nothing is kept between calls.

Not here: HTML (templates), one decision's detail (`decision`), the book's fold (`positions`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from fastapi.responses import Response

from audit.errors import ProofError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from audit.tlog.merkle import verify_inclusion
from audit.tlog.policy import QuorumPolicy
from gateway.desk.officers.oversight.case_files import kinds_for
from gateway.evidence.decisions import FIRST_KINDS, LAST_KINDS, last_word
from gateway.evidence.replay.pairs import Pairs
from gateway.evidence.statement import DayStatement, account_runs, last_day, read_statement
from gateway.installation.keys.roles import Role
from gateway.surfaces.web.views.body import Body, order_state
from gateway.surfaces.web.views.cosigners import CosignerRow, cosigners
from gateway.surfaces.web.views.decision import DecisionView, decision_view
from gateway.surfaces.web.views.evidence import download
from gateway.surfaces.web.views.positions import (
    POSITION_KINDS,
    PositionsView,
    RunRow,
    account_of,
    accounts_of,
    holdings,
    positions_view,
)
from gateway.walk.projections.forecasts import with_forecasts
from inference.speculation.rounds import QTable

PAGE_ROWS: Final = 25
RECORD_ROWS: Final = 50
PREFIX: Final = "decision/"
BITE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """What every page says of the newest run; the models saw no data after `data_cutoff_us`."""

    run_id: str = ""
    mode: str = ""
    account: str = ""
    currency: str = "USD"
    dev: bool = False
    first_as_of_us: int | None = None
    data_cutoff_us: int | None = None

    @property
    def outside_training(self) -> bool:
        """Return whether the first decision is later than all data that the models saw."""
        first, cutoff = self.first_as_of_us, self.data_cutoff_us
        return first is not None and cutoff is not None and first > cutoff


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One line of the decisions list."""

    decision_id: str
    seq: int
    as_of_us: int | None
    instrument: str
    author: str
    outcome: str
    step_vol_1e8: int | None
    target_exposure_bp: int | None
    side: str
    qty_lots: int | None
    limit_ticks: int | None
    verdict: str
    reasons: tuple[str, ...]
    order_state: str

    def is_called(self, name: str) -> bool:
        """Return whether this is the outcome or, while the decision is open, the order's state."""
        return self.outcome == name or (
            self.outcome in {"approved", "open"} and self.order_state == name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsView:
    """A page of decisions, newest first; `older` is the next page's `before`, None on the last."""

    rows: tuple[DecisionRow, ...]
    runs: tuple[RunRow, ...]
    run_id: str
    outcome: str
    older: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """Where the log stands.

    Attributes:
        checkpoint_size: records under the last signed checkpoint, 0 without one.
        root, note: that checkpoint's root in hex, and the checkpoint as signed.
        cosigned_size: records under the last checkpoint that a witness cosigned, 0 without one.
    """

    origin: str
    size: int
    size_bytes: int
    checkpoint_size: int
    root: str
    note: str
    cosigned_size: int
    cosigners: tuple[CosignerRow, ...]
    kinds: tuple[tuple[str, int], ...]
    latest: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inclusion:
    """The path from a record to the last signed root; `holds` if it leads there."""

    seq: int
    size: int
    leaf: str
    path: tuple[str, ...]
    root: str
    holds: bool


OUTCOMES: Final = (
    "filled",
    "partially_filled",
    "rejected_by_broker",
    "rejected",
    "no_trade",
    "no_forecast",
    "held",
    "hold_refused",
    "hold_expired",
    "cancelled",
    "withdrawn",
    "unknown",
    "abandoned",
    "open",
)


class Views:
    """Reads pages' values from the ledger; holds no state of its own."""

    def __init__(
        self,
        reader: LedgerReader,
        table: QTable | None = None,
        policy: QuorumPolicy | None = None,
        *,
        stored: LedgerReader | None = None,
        pairs: Pairs | None = None,
    ) -> None:
        """Read pages from `reader`, and single records from `stored`, disavowed ones too.

        `table` gives the drafter's probabilities, `pairs` those of decisions that another table
        drafted; `policy` is the witness policy of proofs.
        """
        self._reader = reader
        self._stored = stored or reader
        self._table = table
        self._pairs = pairs
        self._policy = policy

    def frame(self) -> PageFrame:
        """Return what the newest run says of itself."""
        found = self._reader.records(
            stream="control", kinds=(Kind.RUN_STARTED,), newest_first=True, limit=1
        )
        for record in found:
            body = Body(record.body)
            return PageFrame(
                run_id=body.text("run_id"),
                mode=body.text("mode"),
                account=body.text("account"),
                currency=body.text("currency", "USD"),
                dev=body.flag("dev"),
                first_as_of_us=body.whole("first_as_of_us"),
                data_cutoff_us=body.whole("data_cutoff_us"),
            )
        return PageFrame()

    def runs(self) -> tuple[RunRow, ...]:
        """Return the runs, newest first."""
        found = self._reader.records(
            stream="control", kinds=(Kind.RUN_STARTED,), newest_first=True, limit=100
        )
        return tuple(
            RunRow(
                run_id=Body(r.body).text("run_id"),
                account=Body(r.body).text("account"),
                started_us=r.recorded_at_us,
                seq=r.seq,
            )
            for r in found
        )

    def decisions(self, *, run_id: str, outcome: str, before: int | None) -> DecisionsView:
        """Return a page of decisions; an empty `run_id` or `outcome` means all."""
        rows: list[DecisionRow] = []
        older: int | None = None
        for start in self._starts(run_id, outcome, before):
            row = self._row(start)
            if outcome and not row.is_called(outcome):
                continue
            if len(rows) == PAGE_ROWS:
                older = rows[-1].seq
                break
            rows.append(row)
        return DecisionsView(
            rows=tuple(rows), runs=self.runs(), run_id=run_id, outcome=outcome, older=older
        )

    def decision(self, decision_id: str, path_page: int = 0) -> DecisionView | None:
        """Return one decision as the walk, or None if the ledger has no such decision."""
        records = tuple(self._reader.records(stream=PREFIX + decision_id))
        if not records:
            return None
        table = self._table
        if self._pairs is not None:
            table = self._pairs.table_for(with_forecasts(self._reader, records), table)
        return decision_view(decision_id, records, self._reader, table, path_page)

    def positions(self, run_id: str, account: str = "") -> PositionsView | None:
        """Return the book of an account at a run's end; None without such a run or account.

        Agents trade in accounts beside it (`<account>.agent`, one for each scope), with the same
        equity. An account that outlives runs is folded over all of its records, as the rules do.
        """
        runs = self.runs()
        chosen = next((r for r in runs if r.run_id == run_id or not run_id), None)
        if chosen is None:
            return None
        started = self._reader.record(chosen.seq)
        if started is None:
            return None
        later = [r.seq for r in runs if r.seq > chosen.seq and r.account == chosen.account]
        end = min(later, default=None)
        names = accounts_of(self._reader, chosen.account, end)
        name = account_of(self._reader, names, account, end)
        if name is None:
            return None
        run = replace(chosen, account=name, currency=Body(started.body).text("currency", "USD"))
        equity = Body(started.body).whole("equity_minor") or 0
        records = self._reader.records(account=name, kinds=POSITION_KINDS, before_seq=end)
        view = positions_view(runs, run, equity, records)
        return replace(view, names=names, holdings=holdings(self._reader, names, equity, end))

    def statement(self, account: str, day: str) -> tuple[tuple[str, ...], DayStatement | None]:
        """Return the accounts, and one's statement of a day; by default the last of the first."""
        names = tuple(sorted(account_runs(self._reader)))
        name = account or next(iter(names), "")
        chosen = day or (last_day(self._reader, name) if name in names else "")
        if name not in names or not chosen:
            return names, None
        return names, read_statement(self._reader, name, chosen)

    @property
    def reader(self) -> LedgerReader:
        """The ledger, for pages whose views are made of it alone."""
        return self._reader

    def disavowed_by(self, seq: int) -> int | None:
        """Return the number of the record that disavows this one, or None."""
        return self._reader.disavowals().get(seq)

    def record(self, seq: int) -> Record | None:
        """Return one record, which may be disavowed."""
        return self._stored.record(seq)

    def ledger(self, before: int | None, role: Role) -> LedgerView:
        """Return the log's state with a page of records, newest first, as this role sees it."""
        head = self._reader.head()
        last = next(iter(self._reader.checkpoints(limit=1)), None)
        counts, kinds = self._reader.kind_counts(), kinds_for(role)
        newest = partial(self._reader.records, newest_first=True)
        cosigned_size, who = cosigners(self._reader)
        return LedgerView(
            origin=head.origin,
            size=head.size,
            size_bytes=self._reader.size_bytes(),
            checkpoint_size=last.size if last else 0,
            root=last.root_hex if last else "",
            note=last.note.decode() if last else "",
            cosigned_size=cosigned_size,
            cosigners=who,
            kinds=tuple((str(kind), counts[kind]) for kind in kinds if counts.get(kind)),
            latest=tuple(newest(kinds=kinds, before_seq=before, limit=RECORD_ROWS)),
        )

    def download(self, seq: int, form: str) -> Response | None:
        """Return one file of a record's evidence, or None."""
        return download(self._reader, seq, form, self._policy)

    def inclusion(self, record: Record) -> Inclusion | None:
        """Return a record's checked path to the last checkpoint's root; None if not covered."""
        last = next(iter(self._reader.checkpoints(limit=1)), None)
        if last is None or record.seq >= last.size:
            return None
        path = self._reader.inclusion_proof(record.seq, last.size)
        try:
            verify_inclusion(record.leaf, record.seq, last.size, path, last.root)
        except ProofError:
            holds = False
        else:
            holds = True
        return Inclusion(
            seq=record.seq,
            size=last.size,
            leaf=record.leaf.hex(),
            path=tuple(node.hex() for node in path),
            root=last.root_hex,
            holds=holds,
        )

    def _starts(self, run_id: str, outcome: str, before: int | None) -> Iterator[Record]:
        """Yield first records of decisions, newest first, in bounded reads.

        Decisions that are sealed with another outcome are skipped without reading their records.
        """
        sealed: dict[str, str] = {}
        sealed_from: int | None = None
        while True:
            bite = tuple(
                self._reader.records(
                    kinds=FIRST_KINDS, before_seq=before, newest_first=True, limit=BITE
                )
            )
            if outcome and bite:
                sealed = self._sealed(bite[-1].seq, sealed_from, outcome) | sealed
                sealed_from = bite[-1].seq
            for record in bite:
                ours = not run_id or Body(record.body).text("run_id") == run_id
                wanted = sealed.get(record.stream, outcome) == outcome
                if wanted and ours and record.stream_seq == 0:
                    yield record
            if len(bite) < BITE:
                return
            before = bite[-1].seq

    def _sealed(self, after_seq: int, before_seq: int | None, wanted: str) -> dict[str, str]:
        """Return how streams are sealed within a range; `wanted` for those reopened there."""
        sealed: dict[str, str] = {}
        for record in self._reader.records(
            kinds=LAST_KINDS, after_seq=after_seq, before_seq=before_seq
        ):
            if record.kind is Kind.DECISION_SEALED:
                sealed[record.stream] = Body(record.body).text("outcome")
            elif Body(record.body).flag("reopens"):
                sealed[record.stream] = wanted
        return sealed

    def _row(self, start: Record) -> DecisionRow:
        records = tuple(self._reader.records(stream=start.stream))
        by_kind = {one.kind: Body(one.body) for one in with_forecasts(self._reader, records)}

        def last(kind: Kind) -> Body:
            return by_kind.get(kind, Body(None))

        taken, verdict = last(Kind.FORECAST_TAKEN), last(Kind.VERDICT_GIVEN).child("verdict")
        intent = last(Kind.INTENT_PROPOSED).child("intent")
        received = last(Kind.INTENT_RECEIVED)
        action = verdict.text("action")
        return DecisionRow(
            decision_id=start.stream.removeprefix(PREFIX),
            seq=start.seq,
            as_of_us=last(Kind.SNAPSHOT_TAKEN).whole("as_of_us"),
            instrument=taken.text("instrument") or received.child("request").text("instrument"),
            author=intent.text("author") or received.text("author") or taken.text("author"),
            outcome=last_word(reversed(records))
            or last(Kind.VERDICT_GIVEN).text("result")
            or "open",
            step_vol_1e8=last(Kind.FORECAST_MADE).child("forecast").whole("step_vol_1e8"),
            target_exposure_bp=intent.whole("target_exposure_bp"),
            side=intent.text("side"),
            qty_lots=intent.whole("qty_lots"),
            limit_ticks=intent.whole("limit_ticks"),
            verdict=action,
            reasons=tuple(
                dict.fromkeys(
                    f"{r.text('rule_id')} {r.text('reason')}"
                    for r in verdict.children("results")
                    if r.text("action") == action and action != "ALLOW"
                )
            ),
            order_state=order_state(by_kind),
        )
