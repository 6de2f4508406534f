"""The numbers of a run, over a real ledger: the summary, the accepted figure, replay by the table.

The model stands in (drafts of the distilled table, rows of its own), the walk is real.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from audit.records.kinds import Kind
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from gateway.clock import wall_us
from gateway.errors import UnknownDecisionError
from gateway.evidence.explanation import decision_document
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.launch.paper.acceptance_rate import LOOK_AHEAD, TableFigure
from gateway.launch.paper.summary import quantile, summarise
from gateway.walk.projections.book import Twin
from gateway.walk.projections.forecasts import decision_records
from inference.codec.codec import ReturnCodec
from inference.speculation.evidence import judge
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.rounds import DrafterKind, row_values
from inference.weights.registry import read_table
from tests.doubles.small_desk import EQUITY_MINOR, RUN, SmallDesk, small_desk

pytestmark = pytest.mark.postgres
DECISIONS = 10
TABLE_FILE = Path(__file__).parents[4] / "inference" / "models" / "pair_v1" / "table.safetensors"


@pytest.fixture(scope="module")
def played(
    postgres: EmbeddedPostgres,
    database_names: Iterator[int],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SmallDesk]:
    """A small desk that played a few sessions."""
    admin = postgres.start()
    name = f"numbers_{next(database_names)}"
    server, _, options = admin.partition("?")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE migrated".encode())
    dsn = f"{server.rpartition('/')[0]}/{name}?{options}"
    state = tmp_path_factory.mktemp("numbers")
    signer = FileSigner.generate(state / "ledger.key", "pages.test")
    ledger = Ledger.open(LedgerConfig(dsn=dsn, checkpoint_every_s=0), signer, wall_us)
    reader = LedgerReader(dsn)
    try:
        desk = small_desk(ledger, reader, state, read_table(TABLE_FILE.read_bytes()))
        desk.play(DECISIONS)
        yield desk
    finally:
        ledger.close()
        reader.close()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def figure(played: SmallDesk) -> TableFigure:
    """Return the figure over the shipped table."""
    return TableFigure(table=played.table, codec=ReturnCodec())


def test_the_summary_counts_what_the_ledger_holds(played: SmallDesk) -> None:
    summary = summarise(
        played.reader,
        run_id=RUN,
        account=RUN,
        equity_minor=EQUITY_MINOR,
        target_vol_bp=1_000,
        figure=figure(played),
    )
    of = {kind: list(played.reader.records(kinds=(kind,))) for kind in Kind}
    assert summary["forecasts"] == len(of[Kind.FORECAST_MADE]) == DECISIONS
    assert (summary["decisions"], summary["no_forecasts"]) == (DECISIONS, 0)
    assert summary["orders"] == len(of[Kind.ORDER_SENDING]) > 0
    fills = [r.body["fill"] for r in of[Kind.ORDER_REPORTED] if r.body["fill"] is not None]
    assert summary["fills"] == len(fills) > 0
    book = played.desk.own.section.book(RUN)
    assert summary["pnl_minor"] == book.equity_minor - EQUITY_MINOR
    twin = played.desk.own.section.twin_book(Twin.PLACEBO, RUN)
    assert summary["placebo_pnl_minor"] == twin.equity_minor - EQUITY_MINOR
    wire = [r.body["decision_to_wire_us"] / 1_000 for r in of[Kind.ORDER_SENT]]
    assert summary["decision_to_wire_ms_p50"] == quantile(wire, 0.5)
    assert summary["demo_agent"]
    assert sum(summary["outcomes"].values()) == len(of[Kind.DECISION_SEALED])


def test_the_accepted_figure_is_a_mean_over_full_rounds(played: SmallDesk) -> None:
    codec, full, taken = ReturnCodec(), 0, 0
    expected: list[float] = []
    captured: list[tuple[str, tuple[int, ...]]] = []
    for stream in played.reader.streams("forecast/"):
        records = list(played.reader.records(stream=stream))
        asked = next(r for r in records if r.kind is Kind.FORECAST_REQUESTED)
        made = next(r for r in records if r.kind is Kind.ROUNDS_CAPTURED)
        prompt = tuple(asked.body["prompt_ids"])
        captured.append((made.body["capture_blob"], prompt))
        data = played.reader.blob(made.body["capture_blob"])
        assert data is not None
        capture = decode_evidence(data)
        for one in capture.rounds:
            if len(one.drafts) == capture.spec_k:
                full += 1
                taken += one.accepted
        base = codec.table_base(prompt)
        for index in range(len(capture.seeds)):
            own = [r for r in capture.rounds if r.trajectory == index]
            tokens = [token for one in own for token in one.emitted]
            p = [
                (one.p[place] if place < one.accepted else one.token_p)
                for one in own
                for place in range(len(one.emitted))
            ]
            states = [codec.table_step(base, token) for token in tokens[:-1]]
            q = [
                row_values(played.table.row(state))[token - capture.bin_start]
                for state, token in zip(states, tokens[1:], strict=True)
            ]
            rates = [min(1.0, b / a) for a, b in zip(p[1:], q, strict=True)]
            for start in range(len(rates) - LOOK_AHEAD + 1):
                a, b, c, d = rates[start : start + LOOK_AHEAD]
                expected.append(a + a * b + a * b * c + a * b * c * d)
    found = figure(played).measured(captured, played.reader)
    assert found.mean_accepted == round(taken / full, 4)
    assert found.table_accepted == pytest.approx(sum(expected) / len(expected), abs=1e-4)
    assert found.table_accepted is not None
    assert abs(found.table_accepted - taken / full) < 0.3, "the table drafted: both mean the same"


def test_every_draft_of_the_table_recomputes_from_its_state(played: SmallDesk) -> None:
    for record in played.reader.records(kinds=(Kind.ROUNDS_CAPTURED,)):
        data = played.reader.blob(record.body["capture_blob"])
        assert data is not None
        capture = decode_evidence(data)
        assert capture.drafter is DrafterKind.TABLE
        assert judge(capture, played.table) == ()
        first = capture.rounds[0]
        turned = replace(first, token=first.token ^ 1)
        bent = replace(capture, rounds=(turned, *capture.rounds[1:]))
        assert judge(bent, played.table) != (), "it would not notice"


def test_show_gives_every_input_text_and_internal_of_a_decision(played: SmallDesk) -> None:
    for stream in played.reader.streams("decision/"):
        decision = stream.removeprefix("decision/")
        records = decision_records(played.reader, decision)
        assert {r.stream.partition("/")[0] for r in records} == {"decision", "forecast"}
        shown = json.loads(json.dumps(decision_document(played.reader, played.table, decision)))
        assert [r["payload"] for r in shown["records"]] == [r.body for r in records]
        body = {r.kind: r.body for r in records}
        snapshot = shown["blobs"][body[Kind.SNAPSHOT_TAKEN]["snapshot_blob"]]
        assert len(snapshot["bars"]) == body[Kind.SNAPSHOT_TAKEN]["n_bars"]
        assert len(snapshot["news"]) == body[Kind.SNAPSHOT_TAKEN]["n_news"]
        capture = shown["blobs"][body[Kind.ROUNDS_CAPTURED]["capture_blob"]]
        drafts = [d for t in capture["trajectories"] for r in t["rounds"] for d in r["drafts"]]
        assert len(drafts) == body[Kind.ROUNDS_CAPTURED]["drafted"]
        decided = [d for d in drafts if d["fate"] != "discarded"]
        assert len(decided) == body[Kind.ROUNDS_CAPTURED]["positions"]
        for draft in decided:
            assert (draft["u"] <= draft["p"] / draft["q"]) == (draft["fate"] == "accepted")
        reports = sum(r.kind is Kind.ORDER_REPORTED for r in records)
        assert len(shown["inbound_fix"]) == reports
        assert all(r["payload"]["raw"] for r in shown["inbound_fix"])
    with pytest.raises(UnknownDecisionError):
        decision_document(played.reader, played.table, "nothing")


@pytest.mark.parametrize(
    ("values", "level", "expected"),
    [
        ([], 0.5, None),
        ([3.0], 0.99, 3.0),
        ([1.0, 2.0, 3.0], 0.5, 2.0),
        ([float(n) for n in range(1, 101)], 0.99, 99.0),
        ([float(n) for n in range(1, 101)], 0.5, 50.0),
    ],
)
def test_a_quantile_is_the_nearest_rank(
    values: list[float], level: float, expected: float | None
) -> None:
    assert quantile(values, level) == expected
