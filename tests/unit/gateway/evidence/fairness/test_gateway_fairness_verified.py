"""The outsider's verifier computes a run of fairness again from a dump; a changed one fails."""

import random
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace as with_fields

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from audit.verifier import verify
from gateway.evidence.fairness.report import differing, run_tests
from gateway.walk.journal.control.fairness import FairnessTested, fairness_tested
from risk.forms.documents import document_of
from risk.intent import Intent, Side
from risk.verdict import (
    Action,
    Bound,
    Outcome,
    Reason,
    RuleId,
    RuleResult,
    Scope,
    Unit,
    make_verdict,
    verdict_document,
)
from tests.doubles.audit_log import RUN, SIGNER, TIME_US, MemoryLog, dump_of
from tests.doubles.risk_cases import intent_with

REGIONS = {"SPXN": "north-america", "EUXN": "europe"}
DAYS = ("2018-01-02", "2018-01-03")
DEALS = 99
CASES = 140
CLIENTS = ("alpha", "beta")


@pytest.fixture(autouse=True)
def only_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge the runs alone: the decisions of these logs are invented and rest on no record."""
    monkeypatch.setattr(verify.Statements, "see", lambda *_: None)
    monkeypatch.setattr(verify.Statements, "finish", lambda *_: None)


@dataclass(frozen=True, slots=True)
class Source:
    """The records of a log in memory, and its root at any size."""

    log: MemoryLog

    def records(
        self, *, kinds: Iterable[Kind] | None = None, before_seq: int | None = None
    ) -> Iterator[Record]:
        wanted = set(kinds or Kind)
        for row in self.log.rows[:before_seq]:
            record = Record(**{name: row[name] for name in Record.__struct_fields__})
            if record.kind in wanted:
                yield record

    def root(self, size: int) -> bytes:
        tree = verify.Tree()
        for row in self.log.rows[:size]:
            tree.append(row["leaf"])
        return tree.root()


def draft(stream: str, kind: Kind, key: str, payload: dict[str, Any]) -> Draft:
    return Draft(stream=stream, kind=kind, payload=payload, actor="gateway", idem_key=key)


def mark(symbol: str, at_us: int, ticks: int, kind: str, day: str) -> Draft:
    body = {**RUN, "instrument": symbol, "price_ticks": ticks, "kind": kind}
    body |= {"market_time_us": at_us, "session_date": day}
    return draft(f"market/{symbol}", Kind.MARK_TAKEN, f"mark:{symbol}:{at_us}:{kind}", body)


def announced_us(n: int, author: str, rng: random.Random, *, pair: bool) -> int:
    """Return when an order leaves; of a `pair` that acts as one, in the same minutes."""
    minute_us = 60_000_000
    if pair:
        minute = n // 12
        second = minute * minute * 17 % 29  # so that no other turn brings all of them together
        return minute * minute_us + second * 1_000_000 + (300_000 if author == "bob" else 0)
    return rng.randrange(300 * minute_us)


def forecast_of(name: str, forecast: dict[str, Any]) -> Draft:
    payload = {"attempt": 0, "forecast": forecast}
    return draft(f"forecast/{name}.0", Kind.FORECAST_MADE, "forecast:0", payload)


def taken_by(stream: str, name: str, symbol: str, seq: int) -> Draft:
    """Return a decision's word which forecast it took: that of record `seq`."""
    body = {**RUN, "decision_id": stream.removeprefix("decision/"), "attempt": 0}
    body |= {"instrument": symbol, "forecast_id": name, "of_seq": seq}
    return draft(stream, Kind.FORECAST_TAKEN, "forecast:0", body)


def case_of(
    rng: random.Random, n: int, at_us: int, seq: int, *, pair: bool = False
) -> Iterator[Draft]:
    """Yield one decision: a forecast, a verdict that a region biases, and perhaps a trade.

    `seq` is the number that its first record gets.
    """
    symbol = rng.choice(sorted(REGIONS))
    stream = f"decision/d{n:04d}"
    expected = rng.randrange(-400, 400) * 1_000
    forecast = {"as_of_us": at_us, "horizon": 1, "expected_1e8": expected}
    forecast |= {"interval_low_1e8": expected - 300_000, "interval_high_1e8": expected + 300_000}
    name = f"F{n}"
    yield forecast_of(name, forecast)
    yield taken_by(stream, name, symbol, seq)
    biased = 400 if symbol == "EUXN" else 0
    result = rng.choices(["approved", "held", "rejected"], [6, 2 + biased // 200, 2])[0]
    action = {"approved": "ALLOW", "held": "HOLD", "rejected": "REJECT"}[result]
    side = rng.choice(["BUY", "SELL"])
    exposure = rng.randrange(100, 900) * (1 if side == "BUY" else -1) + biased
    intent = intent_with(
        author=rng.choice(["ann", "bob"]),
        instrument=symbol,
        side=Side(side),
        target_exposure_bp=exposure,
    )
    yield draft(stream, Kind.VERDICT_GIVEN, "verdict", given(f"d{n:04d}", intent, result, action))
    if result == "approved":
        told: dict[str, Any] = {"account": "acc", "cl_ord_id": f"c{n}", "fields": []}
        told |= {
            "approving_seq": seq + 2,
            "kill_epoch": 0,
            "send_before_us": at_us,
            "decided_us": 0,
        }
        told |= {"market_now_us": at_us + announced_us(n, intent.author, rng, pair=pair)}
        yield draft(stream, Kind.ORDER_SENDING, "sending", told)
    if result == "approved" and rng.random() < 0.7:
        body: dict[str, Any] = {"account": "acc", "cl_ord_id": f"c{n}", "trade_date": "20180102"}
        body |= {"exec_id": f"e{n}", "report": {}, "ord_status": "2", "terminal": True}
        body |= {"fill": fill(symbol, side, rng), "last_lots": 2, "session": "EMS"}
        body |= {"inbox_offset": n}
        body |= {"order_state": "filled", "market_time_us": at_us}
        yield draft(stream, Kind.ORDER_REPORTED, "report", body)


def fill(symbol: str, side: str, rng: random.Random) -> dict[str, Any]:
    """Return two lots near the opening price."""
    told = {"instrument": symbol, "side": side, "qty_lots": 2, "fee_minor": 0, "unit_minor": 1}
    return told | {"price_ticks": 10_000 + rng.randrange(-20, 20)}


def afterwards(
    log: MemoryLog, trades: list[tuple[Draft, int]], rng: random.Random, favoured: str
) -> None:
    """Take back every seventh trade, correct every fifth, and split all orders between clients.

    A `favoured` client gets those that were bought low or sold high.
    """
    for place, (report, seq) in enumerate(trades):
        said = dict(report.payload)
        if place % 7 == 0:
            said |= {"fill": None, "last_lots": -2, "undoes_seq": seq, "exec_id": f"b{seq}"}
        elif place % 5 == 0:
            was = cast("dict[str, Any]", said["fill"])
            said |= {"fill": {**was, "price_ticks": was["price_ticks"] + 1}, "last_lots": 0}
            said |= {"undoes_seq": seq, "exec_id": f"g{seq}"}
        if "undoes_seq" in said:
            log.append(draft(report.stream, Kind.ORDER_REPORTED, f"again:{seq}", said))
    for report, seq in trades:
        name = report.stream.removeprefix("decision/")
        parts = rng.choice([{"alpha": 2}, {"beta": 2}, {"alpha": 1, "beta": 1}])
        if favoured:
            was = cast("dict[str, Any]", report.payload["fill"])
            good = (was["price_ticks"] < 10_000) is (was["side"] == "BUY")
            parts = {favoured if good else "beta": 2}
        said = {"account": "acc", "decision_id": name, "sealed_seq": seq, "lots": 2}
        said |= {"parts": parts, "allocated_by": "ops"}
        log.append(draft("control", Kind.ORDER_ALLOCATED, f"allocated:{name}", said))


def given(decision_id: str, intent: Intent, result: str, action: str) -> dict[str, Any]:
    """Return what a verdict's record says, with one rule that ended as it did."""
    rule = RuleResult(
        rule_id=RuleId.R10,
        check="share",
        version=1,
        scope=Scope.INSTRUMENT,
        observed=1,
        limit=1,
        margin=0,
        unit=Unit.FLAG,
        bound=Bound.MAX,
        outcome=Outcome.PASS,
        action=Action[action],
        reason=Reason.WITHIN_LIMIT,
    )
    digest = "0" * 64
    verdict = make_verdict(
        results=(rule,), policy_digest=digest, intent_digest=digest, state_digest=digest
    )
    return {
        **RUN,
        "basis_seq": 0,
        "decision_id": decision_id,
        "intent": document_of(intent),
        "verdict": verdict_document(verdict),
        "result": result,
        "policy_digest": digest,
        "kill_epoch": 0,
        "market_now_us": TIME_US,
        "send_before_us": TIME_US,
        "reservation": None,
    }


def played(seed: int = 1, *, favoured: str = "", pair: bool = False) -> MemoryLog:
    """Return a log of two days of decisions in two regions, with their closes."""
    rng, log = random.Random(seed), MemoryLog()  # noqa: S311 - a case, not a secret
    for symbol, region in REGIONS.items():
        listed = {"symbol": symbol, "asset_class": "equity", "currency": "USD"}
        body = {"instrument": listed, "reference": {"region": region, "mic": f"X{symbol}"}}
        log.append(draft(f"market/{symbol}", Kind.INSTRUMENT_LISTED, f"listed:{symbol}", body))
    for number, day in enumerate(DAYS):
        at_us = TIME_US + number * 86_400_000_000
        for symbol in REGIONS:
            log.append(mark(symbol, at_us, 10_000, "open", day))
            log.append(mark(symbol, at_us, 10_000, "close", day))
        trades = []
        for n in range(CASES):
            for one in case_of(rng, number * CASES + n, at_us + 1, len(log.rows), pair=pair):
                log.append(one)
                if one.kind is Kind.ORDER_REPORTED:
                    trades.append((one, len(log.rows) - 1))
        afterwards(log, trades, rng, favoured)
        for symbol in REGIONS:
            log.append(mark(symbol, at_us + 9, 10_000 + rng.randrange(-30, 30), "close", day))
    return log


@pytest.fixture(scope="module")
def made() -> tuple[MemoryLog, FairnessTested]:
    log = played()
    source = Source(log)
    run = run_tests(source, source.root, (DAYS[0], DAYS[-1]), deals=DEALS)
    return log, run


def judged(log: MemoryLog, run: FairnessTested) -> verify.Report:
    """Return the verifier's report on the log with a run put on its record."""
    whole = deepcopy(log)
    whole.append(fairness_tested(run))
    whole.checkpoint()
    return verify.verify_dump(dump_of(whole), [str(SIGNER.vkey)])


def test_a_true_run_follows_with_every_test_judged(made: tuple[MemoryLog, FairnessTested]) -> None:
    log, run = made
    told = {row["test"] for row in run.results if row["finding"] in {"flagged", "not flagged"}}
    assert {f"W{n}" for n in range(1, 9)} <= told, "every statistic is compared"
    report = judged(log, run)
    assert report.exit_code == verify.OK, report.lines
    assert any(line.startswith("1 of 1 runs of the tests of fairness") for line in report.lines)


@pytest.mark.parametrize("place", range(4))
def test_a_changed_figure_of_any_test_fails_and_is_named(
    made: tuple[MemoryLog, FairnessTested], place: int
) -> None:
    log, run = made
    rows = [n for n, row in enumerate(run.results) if "observed" in row]
    at = rows[place * (len(rows) - 1) // 3]
    changed = {**run.results[at], "observed": run.results[at]["observed"] + 1}
    report = judged(
        log, with_fields(run, results=(*run.results[:at], changed, *run.results[at + 1 :]))
    )
    assert report.exit_code == verify.TAMPERED
    assert changed["test"] in report.reason


def test_another_seed_a_left_out_case_and_a_left_out_row_fail(
    made: tuple[MemoryLog, FairnessTested],
) -> None:
    log, run = made
    other = Source(log).root(run.size - 1)
    assert "its root is not the log's" in judged(log, with_fields(run, root=other.hex())).reason
    fewer = run_tests(Source(log), Source(log).root, DAYS, below=run.size - 40, deals=DEALS)
    for changed in (
        with_fields(run, cases=run.cases - 1),
        with_fields(run, results=run.results[:-5]),
        with_fields(fewer, size=run.size, root=run.root),
        with_fields(run, size=10_000),
    ):
        assert judged(log, changed).exit_code == verify.TAMPERED


def test_a_permutation_test_of_another_seed_is_not_the_roots(
    made: tuple[MemoryLog, FairnessTested],
) -> None:
    log, run = made
    shopped = run_tests(Source(log), lambda _: bytes(32), DAYS, deals=DEALS)
    report = judged(log, with_fields(shopped, root=run.root))
    assert report.exit_code == verify.TAMPERED
    assert "W3" in report.reason


def test_one_command_does_it(
    made: tuple[MemoryLog, FairnessTested], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, run = made
    whole = deepcopy(log)
    whole.append(fairness_tested(run))
    whole.checkpoint()
    file = tmp_path / "ledger.dump"
    file.write_bytes(b"".join(dump_of(whole)))
    command = [str(file), "--key", str(SIGNER.vkey)]
    assert verify.main(command) == verify.OK
    assert "1 of 1 runs of the tests of fairness" in capsys.readouterr().out
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:20] + lines[21:]))
    assert verify.main(command) != verify.OK
    assert "the tests of fairness cannot be repeated" in capsys.readouterr().out


@pytest.mark.parametrize("tests", ["", "W1-W8", "W1-W10"])
def test_a_run_of_other_tests_is_never_sound(
    made: tuple[MemoryLog, FairnessTested], tests: str
) -> None:
    log, run = made
    source = Source(log)
    other = with_fields(run, tests=tests)
    report = judged(log, other)
    assert report.exit_code == verify.INCOMPLETE
    assert (tests or "W1-W7") in report.reason
    assert differing(other, source, source.root) == ("tests",)


@pytest.mark.parametrize("left_out", ["W8", "W9"])
def test_a_run_without_a_test_that_it_names_is_found(
    made: tuple[MemoryLog, FairnessTested], left_out: str
) -> None:
    log, run = made
    kept = tuple(row for row in run.results if row["test"] != left_out)
    assert judged(log, with_fields(run, results=kept)).exit_code == verify.TAMPERED


def test_a_client_who_gets_the_better_orders_is_found_and_recomputed() -> None:
    log = played(favoured="alpha")
    source = Source(log)
    run = run_tests(source, source.root, DAYS, deals=DEALS)
    (row,) = (row for row in run.results if row["test"] == "W8")
    assert (row["finding"], row["cases"] > 60) == ("flagged", True)
    assert row["group"] in CLIENTS
    assert judged(log, run).exit_code == verify.OK
    shifted = {**row, "p_value": "1/2", "finding": "not flagged", "observed": 5_000}
    others = tuple(shifted if one is row else one for one in run.results)
    report = judged(log, with_fields(run, results=others))
    assert report.exit_code == verify.TAMPERED
    assert "W8" in report.reason


def test_agents_that_act_as_one_are_found_and_recomputed() -> None:
    found = {}
    for pair in (False, True):
        log = played(pair=pair)
        run = run_tests(Source(log), Source(log).root, DAYS, deals=DEALS)
        (found[pair],) = (row for row in run.results if row["test"] == "W9")
        assert judged(log, run).exit_code == verify.OK
        others = [row for row in run.results if row["test"] != "W9"]
        assert judged(log, with_fields(run, results=tuple(others))).exit_code == verify.TAMPERED
    assert found[False]["finding"] == "not flagged"
    assert (found[True]["finding"], found[True]["group"]) == ("flagged", "ann with bob")
    assert found[True]["p_value"] == "1/100"


def test_a_split_counts_once_its_instrument_has_closed() -> None:
    log = played()
    source = Source(log)
    last = max(n for n, row in enumerate(log.rows) if row["kind"] == Kind.ORDER_ALLOCATED.value)
    before = run_tests(source, source.root, DAYS, below=last + 1, deals=DEALS)
    whole = run_tests(source, source.root, DAYS, deals=DEALS)
    (early,), (late,) = (
        [row for row in run.results if row["test"] == "W8"] for run in (before, whole)
    )
    assert 0 < early["cases"] < late["cases"], "the second day had no close yet"
    assert not differing(before, source, source.root)
