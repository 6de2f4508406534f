"""Measure how far an order depends on the seed: `make bench-seeds` (docs/measured/seeds.md).

A ledger of the playback is replayed. At each decision that was sized, the engine samples its prompt
twice more, with two other seeds, by each number of paths; both are sized on the decision's own
book and quote. What the book holds besides has its newest paths of the same seed and number.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.evidence.replay.engine import DEADLINE_S, engine_of
from gateway.evidence.replay.forecasts.past import ForecastPast
from gateway.evidence.replay.pairs import Pairs
from gateway.evidence.replay.past import Past, named
from gateway.evidence.replay.replay import replayed
from gateway.installation.place import attached
from gateway.installation.settings import load
from gateway.telemetry.console import Progress
from gateway.walk.journal.decision import IntentProposed
from gateway.walk.journal.forecast import marginal_of
from gateway.walk.projections.forecasts import decision_records
from gateway.walk.sampled.joint import SampledPaths, law_of, past_of, together
from inference.engine.port import Engine, SampleRequest
from inference.forecast.forecast import Sampled
from inference.forecast.target import sample_target
from inference.scale.correlation import ONE, correlation_of
from inference.speculation.condense import condense
from inference.speculation.seeds import decision_seed, trajectory_seeds
from inference.speculation.totals import paths
from inference.weights.registry import ModelPair, load_table
from risk.errors import PathsError
from risk.sizing import Sizing
from risk.state.book import Book
from risk.state.paths.joint import BookPaths
from risk.state.paths.losses import instruments_of
from risk.state.state import Quote
from scripts.playback_page import played

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "measured" / "seeds.md"
SIZES: Final = (128, 256, 512, 1024)
DECISIONS: Final = 250
BAR: Final = 0.05
BP: Final = 10_000


@dataclass(slots=True)
class Pairwise:
    """What two seeds made of the same decisions, by one number of paths.

    `apart_bp` are the distances of both orders, basis points of equity, with the band of each.
    """

    apart_bp: list[tuple[int, int]] = field(default_factory=list)
    targets_bp: list[int] = field(default_factory=list)
    one_only: int = 0
    flipped: int = 0

    def take(self, one: Sizing, other: Sizing, quote: Quote, unit_minor: int, band_bp: int) -> None:
        """Count a decision under two seeds."""
        lots = abs(one.delta_qty - other.delta_qty)
        twice_lot = (quote.bid_ticks + quote.ask_ticks) * unit_minor
        self.apart_bp.append((lots * twice_lot * BP // (2 * one.equity_minor), band_bp))
        self.targets_bp.append(abs(one.target_exposure_bp - other.target_exposure_bp))
        self.one_only += (one.delta_qty == 0) != (other.delta_qty == 0)
        self.flipped += one.delta_qty * other.delta_qty < 0

    @property
    def changed(self) -> float:
        """The share of decisions whose orders differ by the no-trade band or more."""
        return sum(apart >= band for apart, band in self.apart_bp) / len(self.apart_bp)


Newest = dict[tuple[int, int, str], SampledPaths]
"""The newest paths by seed, number of paths and instrument."""


def main(arguments: Sequence[str]) -> int:
    """Play a ledger, or take a state folder, and write the page."""
    if arguments:
        return _measured(Path(arguments[0]))
    with tempfile.TemporaryDirectory(prefix="seeds-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user, who must get through
        state = Path(folder) / "state"
        played(state, int(os.environ.get("DECISIONS", DECISIONS)))
        return _measured(state)


def _measured(state: Path) -> int:
    found = {n: Pairwise() for n in SIZES}
    settings = load(state=state)
    with attached(settings) as place:
        ids = [one.removeprefix("decision/") for one in place.reader.streams("decision/")]
        pair = Pairs(settings.engine.model).of(decision_records(place.reader, ids[0]))
        table, bar, newest = load_table(pair), Progress(sys.stderr), Newest()
        steps = (step for one in ids for step in replayed(place.reader, table, one))
        sized = (s for s in steps if s[1].kind is Kind.INTENT_PROPOSED)
        first = next(sized)
        engine_as = _made(*first[:2]).capture
        if engine_as is None:
            raise SystemExit("the table made the first decision's forecast")
        with engine_of(pair, engine_as) as engine:
            for done, (past, record, _) in enumerate(_again(first, sized)):
                bar.show("decisions sampled again", done, len(ids))
                _decision(past, record, engine, pair, found, newest)
    bar.end()
    text = page(found, settings.engine.paths)
    if not os.environ.get("QUICK"):
        PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


def _again(
    first: tuple[Past, Record, str], rest: Iterator[tuple[Past, Record, str]]
) -> Iterator[tuple[Past, Record, str]]:
    yield first
    yield from rest


def _decision(
    past: Past,
    record: Record,
    engine: Engine,
    pair: ModelPair,
    found: dict[int, Pairwise],
    newest: Newest,
) -> None:
    attempt, case = past.attempt(record), past.case
    if case is None or attempt.quote is None or case.attempt:
        return
    books = past.books(account=case.tags.account, after=attempt.taken_seq, before=attempt.quote_seq)
    book = named(books, IntentProposed.of(record).book_digest, record)
    band = past.policy.sizing.no_trade_band.value
    for n in SIZES:
        both = []
        for seed_no in (1, 2):
            sampled = _sampled(past, record, engine, pair, n=n, seed_no=seed_no)
            own = SampledPaths(
                paths=marginal_of(case.snapshot, sampled),
                law=law_of(case.snapshot, sampled.forecast.codec_digest, Kind.FORECAST_MADE),
                seed=bytes([seed_no]) * 32,
            )
            newest[seed_no, n, own.paths.instrument] = own
            joint = _joined(own, book, newest, seed_no, n)
            both.append(case.propose(sampled.forecast, book, attempt.quote, joint))
        found[n].take(both[0], both[1], attempt.quote, case.instrument.unit_minor, band)


def _sampled(
    past: Past, record: Record, engine: Engine, pair: ModelPair, *, n: int, seed_no: int
) -> Sampled:
    """Return the forecast of the same prompt under another seed."""
    made = _made(past, record)
    own, prompt = made.opened(record)
    evidence = made.capture
    if evidence is None:
        raise AssertionError("the table made its forecast")
    seed = decision_seed(bytes([seed_no]) * 32, f"{made.name}.{n}", 0)
    request = SampleRequest(
        request_id=f"seeds.{made.name}.{n}.{seed_no}",
        prompt_ids=prompt.token_ids,
        n_tokens=len(paths(evidence)[0]),
        seeds=trajectory_seeds(seed, n),
        spec_k=evidence.spec_k,
        allowed_range=(evidence.bin_start, evidence.bin_start + evidence.n_bins),
        deadline_s=DEADLINE_S,
        draft_first=any(r.drafts for r in evidence.rounds if r.step == 0),
    )
    return sample_target(
        condense(engine.sample(request).capture, past.table),
        codec=made.codec,
        prompt=prompt,
        snapshot=own.snapshot,
        seed=seed,
        table=past.table,
        model_digest=pair.manifest_digest,
        capture_digest="",
    )


def _made(past: Past, record: Record) -> ForecastPast:
    """Return the replay of the forecast that an intent was proposed by."""
    made = past.attempt(record).made
    if made is None:
        raise AssertionError("an intent was proposed without a forecast")
    return made


def _joined(
    own: SampledPaths, book: Book, newest: Newest, seed_no: int, n: int
) -> BookPaths | None:
    symbols = sorted((own.paths.instrument, *instruments_of(book, own.paths.instrument)))
    known = [one for symbol in symbols if (one := newest.get((seed_no, n, symbol))) is not None]
    pasts = [past_of(one.paths) for one in known]
    try:
        found = together(known, lambda i, j: correlation_of(pasts[i], pasts[j], ONE))
    except PathsError:
        return None
    return found.paths if len(known) == len(symbols) else None


def page(found: dict[int, Pairwise], shipped: int) -> str:
    """Return the page."""
    rows = []
    for n, one in found.items():
        count, targets = len(one.targets_bp), sorted(one.targets_bp)
        rows.append(
            f"| {n}{' (shipped)' if n == shipped else ''} | {one.changed:.1%} |"
            f" {one.one_only / count:.1%} | {one.flipped / count:.1%} |"
            f" {targets[count // 2]} | {targets[count * 95 // 100]} |"
        )
    ours = found[shipped].changed
    word = "reached" if ours <= BAR else "**not reached**"
    return "\n".join(
        (
            "# How far an order depends on the seed",
            "",
            "Written by `make bench-seeds`; do not edit. Each decision of a playback of",
            f"{len(found[shipped].targets_bp)} is sampled and sized twice more with other seeds,",
            "on its own book and quote. *Changed*: the orders of both seeds differ by the policy's",
            "no-trade band or more. *One only*: one seed trades and the other does not, by however",
            "little. Volatility's target is in closed form and depends on no seed; what does is",
            "expected shortfall and the chance of a loss limit.",
            "",
            "| paths | changed | one only | other side | targets apart, median bp | 95 % |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
            f"Bar: at most {BAR:.0%} changed with the shipped {shipped} paths: {ours:.1%}, {word}.",
            "",
        )
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
