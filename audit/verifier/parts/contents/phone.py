"""Trades that two officers booked or took out, against the broker's own file.

Trades by phone and give-ups (`book_adjusted`), and resolutions of a difference that name the
broker's ExecIDs (`difference_resolved`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.report import TAMPERED, Report, stamp
from audit.verifier.parts.trust.brokerfile import BrokerFile, BrokerFill, decimal_of, units_of
from audit.verifier.parts.trust.wire import wire_fields


@dataclass(slots=True, kw_only=True)
class _Resolved:
    """A resolution's trade, and what its ExecIDs named so far: lines, and trades that it took out.

    The broker's file must have its trade if it covers each of the days, for one of the accounts.
    """

    trade: Mapping[str, Any]
    exec_ids: list[str]
    days: list[str]
    accounts: list[str]
    met: set[str] = field(default_factory=set)
    lines: list[BrokerFill] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Phoned:
    """The trades by phone, give-ups and named resolutions on record.

    Attributes:
        booked: contents of `book_adjusted` by the record's number.
        relied_on: those that account for a line of the broker's, each with that line.
        currency: of the ledger's orders; empty if no run is shown.
        told: other currencies that the broker told of a trade, by its ExecID.
    """

    booked: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    relied_on: dict[int, str] = field(default_factory=dict)
    currency: str = ""
    told: dict[str, str] = field(default_factory=dict)
    _resolved: dict[int, _Resolved] = field(default_factory=dict)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Take a record that says what officers booked, in which currency, or what came."""
        match head["kind"]:
            case "run_started":
                profile = body.get("order_profile") or {}
                self.currency = text_of(profile.get("currency", ""))
            case "fix_inbound":
                self._hears(body.get("raw"))
            case "book_adjusted" if body.get("trade"):
                self.booked[head["seq"]] = body
            case _:
                pass

    def _hears(self, raw: object) -> None:
        """Take a message as it came: what it says in another currency officers had before them."""
        fields = wire_fields(text_of(raw))
        name, currency = fields.get("17", ""), fields.get("15", "")
        if name and currency and currency != self.currency:
            self.told[name] = currency

    def resolves(self, seq: int, body: Mapping[str, Any], day: str, account: str) -> bool:
        """Take a resolution; return whether it names the broker's ExecIDs.

        `day` and `account` are those of its order as it was announced, empty if it is none of ours.
        """
        trade, terms = body.get("trade"), body.get("terms")
        names = terms.get("exec_ids") if isinstance(terms, dict) else None
        if not isinstance(trade, dict) or not isinstance(names, list) or not names:
            return False
        own = market_day(body.get("market_time_us"))
        self._resolved[seq] = _Resolved(
            trade=trade,
            exec_ids=[text_of(name) for name in names],
            days=[day or own, own],
            accounts=[account, text_of(body.get("account"))],
        )
        return True

    def takes_out(self, exec_ids: list[str], side: str, quantity: int) -> bool:
        """Return whether a resolution took out a booked trade, which the file then lacks."""
        for one in self._resolved.values():
            named = {name for name in exec_ids if name in one.exec_ids}
            if named and one.trade.get("side") not in {side, None}:
                one.gone.append(quantity)
                one.met |= named
                return True
        return False

    def _resolves_line(self, fill: BrokerFill) -> bool:
        for seq, one in self._resolved.items():
            if fill.exec_id not in one.exec_ids or fill.side != one.trade.get("side"):
                continue
            if any(line.exec_id == fill.exec_id for line in one.lines):
                continue  # an ExecID accounts for one line
            one.lines.append(fill)
            one.met.add(fill.exec_id)
            self.relied_on.setdefault(seq, line_of(fill))
            return True
        return False

    def judge_resolved(self, report: Report, broker: BrokerFile) -> None:
        """Report resolutions whose trade is not that of the lines which they account for.

        Of a line without a price both officers' signatures say the price. A trade that they booked
        or took out under ExecIDs is one that the broker has, or had told.
        """
        had = {fill.exec_id for fill, _ in broker.fills}  # a reused one is of two trades
        for seq, one in self._resolved.items():
            is_due = all(any(broker.covers(day, name) for name in one.accounts) for day in one.days)
            lacking = [name for name in one.exec_ids if name not in one.met | had]
            if is_due and lacking:
                text = f"the broker's file lacks fill {', '.join(lacking)}, which officers resolved"
                report.find(TAMPERED, text, seq)
            quantity = units_of(text_of(one.trade.get("quantity"))) or 0
            price = units_of(text_of(one.trade.get("price"))) or 0
            prices = [line.price for line in one.lines if line.price]
            wrong = []
            if one.gone or one.lines:
                told = sum(one.gone) or sum(line.quantity for line in one.lines)
                wrong += ["quantity"] if told != quantity else []
            if prices and not min(prices) <= price <= max(prices):
                wrong.append("price")
            if any(line.instrument != one.trade.get("instrument") for line in one.lines):
                wrong.append("instrument")
            if any(self._other_money(line) for line in one.lines):
                wrong.append("currency")
            if wrong:
                text = f"it resolves {' '.join(one.exec_ids)} with another {', '.join(wrong)}"
                report.find(TAMPERED, f"{text} than the broker's file has", seq)

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
            wrong += ["currency"] if self._other_money(fill) else []
            if wrong:
                text = f"{line_of(fill)}: the adjustment of record {seq} has another"
                report.find(TAMPERED, f"{text} {', '.join(wrong)}")
            self.relied_on[seq] = line_of(fill)
            return True
        return self._resolves_line(fill)

    def _other_money(self, fill: BrokerFill) -> bool:
        known = {"", self.currency, self.told.get(fill.exec_id, "")}
        return bool(self.currency) and fill.currency not in known

    def judge_lacking(self, report: Report, broker: BrokerFile) -> None:
        """Report the trades by phone that the file should have and has not."""
        for seq, phone in self.booked.items():
            day = market_day(phone.get("market_time_us"))
            told = seq in self.relied_on or phone.get("sort") != "trade"
            if not told and broker.covers(day, text_of(phone.get("account"))):
                name = phone.get("reference") or "without the broker's ExecID (--reference)"
                text = f"the broker's file lacks the trade by phone {name}, booked on {day}"
                report.find(TAMPERED, text, seq)


def market_day(time_us: object) -> str:
    """Return the day (UTC) of a market time, YYYYMMDD."""
    seconds = time_us // 1_000_000 if type(time_us) is int else 0
    return stamp(seconds)[:10].replace("-", "")


def line_of(fill: BrokerFill) -> str:
    """Return a line of the broker's for people."""
    shown = f"{fill.side} {decimal_of(fill.quantity)} {fill.instrument} at {decimal_of(fill.price)}"
    return f"the broker's line {fill.line}, fill {fill.exec_id} ({shown})"
