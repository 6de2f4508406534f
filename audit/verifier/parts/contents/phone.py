"""Trades by phone, which two officers booked, against the broker's own file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.report import TAMPERED, Report, stamp
from audit.verifier.parts.trust.brokerfile import BrokerFile, BrokerFill, decimal_of, units_of


@dataclass(slots=True)
class Phoned:
    """The trades by phone and give-ups on record.

    Attributes:
        booked: contents of `book_adjusted` by the record's number.
        relied_on: those that account for a line of the broker's, each with that line.
    """

    booked: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    relied_on: dict[int, str] = field(default_factory=dict)

    def accounts_for(self, report: Report, fill: BrokerFill) -> bool:
        """Return whether one names this fill; each counts once. Report what differs."""
        for seq, phone in self.booked.items():
            if phone.get("reference") != fill.exec_id or seq in self.relied_on:
                continue
            trade = phone["trade"]
            said = {"instrument": fill.instrument, "side": fill.side}
            wrong = [name for name, value in said.items() if trade.get(name) != value]
            amounts = {"quantity": fill.quantity, "price": fill.price}
            wrong += [n for n, units in amounts.items() if units_of(text_of(trade.get(n))) != units]
            if wrong:
                text = f"{line_of(fill)}: the adjustment of record {seq} has another"
                report.find(TAMPERED, f"{text} {', '.join(wrong)}")
            self.relied_on[seq] = line_of(fill)
            return True
        return False

    def judge_lacking(self, report: Report, broker: BrokerFile) -> None:
        """Report the trades by phone that the file should have and has not."""
        for seq, phone in self.booked.items():
            day = stamp(int(phone.get("market_time_us", 0)) // 1_000_000)[:10].replace("-", "")
            told = seq in self.relied_on or phone.get("sort") != "trade"
            if not told and broker.covers(day, text_of(phone.get("account"))):
                name = phone.get("reference") or "without the broker's ExecID (--reference)"
                text = f"the broker's file lacks the trade by phone {name}, booked on {day}"
                report.find(TAMPERED, text, seq)


def line_of(fill: BrokerFill) -> str:
    """Return a line of the broker's for people."""
    shown = f"{fill.side} {decimal_of(fill.quantity)} {fill.instrument} at {decimal_of(fill.price)}"
    return f"the broker's line {fill.line}, fill {fill.exec_id} ({shown})"
