"""Scenes that statements are about: orders, a hold, replaces, a resolution, acts of officers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from audit.records.canonical import JSON
from audit.records.kinds import KINDS, Kind
from audit.records.record import Draft
from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.desk.officers.resolution import listed, resolution_statement, resolve
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.installation.policies import policy
from gateway.walk.journal.order import OrderSending
from gateway.walk.journal.run import mark_taken
from gateway.walk.projections.asked import terms_of
from risk.forms.canonical import canonical_bytes
from risk.forms.documents import document_of
from risk.policy.policy import policy_document
from risk.windows.fairness.criteria import PRODUCT, criteria_digest
from tests.doubles.adjusting import adjusted
from tests.doubles.broker_files import Broker, two_orders
from tests.doubles.full_policy import gathered_policy
from tests.doubles.memory_desk import AGENT, AGENT_ACCOUNT, MemoryDesk, memory_desk
from tests.doubles.scaled_desk import scaled_desk, silent_desk
from tests.doubles.signing_anew import TESTED
from tests.doubles.walk_scenes import held_and_approved, quantity

Body = dict[str, Any]


def _orders(folder: Path) -> Broker:
    return two_orders(memory_desk(folder))


def _held(folder: Path) -> Broker:
    desk = memory_desk(folder)
    held_and_approved(desk)
    return Broker(desk)


def _joint(folder: Path) -> Broker:
    """A book of two instruments, whose paths are joined under a policy of format 2."""
    return Broker(_gathered(folder, lambda: scaled_desk(folder, 4)))


def _direct(folder: Path) -> Broker:
    """A forecast that is drawn from rows known by state: no word acts in its prompt."""
    return Broker(_gathered(folder, lambda: silent_desk(folder, 2)))


def _gathered(folder: Path, made: Callable[[], MemoryDesk]) -> MemoryDesk:
    """Make a desk under a policy of format 2."""
    signed = folder / "policy.json"
    signed.write_bytes(canonical_bytes(policy_document(gathered_policy())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "SHIPPED", signed)
        return made()


def _replaced(folder: Path) -> Broker:
    desk = memory_desk(folder)
    broker, order = Broker(desk), desk.rest(50)
    nothing = {"t32": "0", "t31": "0", "t14": "0"}
    broker.says(desk.report(order, t150="0", t39="0", t151=terms_of(order).quantity, **nothing))
    for key, lots, cents in (("less", -20, 0), ("more", 10, 0), ("dearer", -5, 1)):
        order = desk.standing(order.decision_id)
        terms = terms_of(order)
        request: Body = {"client_key": key, "qty_lots": terms.qty_lots + lots}
        request["limit_price"] = str(Decimal(terms.price) + Decimal(cents) / 100)
        desk.small.desk.order_desk.replace(
            AGENT, order.cl_ord_id, ReplaceRequest.model_validate(request)
        )
        order = desk.standing(order.decision_id)
        asked = order.replaces[-1]
        accepted = {"t11": asked.replace_id, "t41": asked.orig_name, "t38": asked.terms.quantity}
        says = {**nothing, "t150": "5", "t39": "0", "t151": asked.terms.quantity}
        broker.says(desk.report(order, **accepted, **says))
    return broker


def _resolved(folder: Path) -> Broker:
    desk = memory_desk(folder)
    broker, own, order = Broker(desk), desk.small.desk.own, desk.rest(30)
    desk.settled(desk.report(order, t17="SEEN", t32="2", t14="5"))
    broker.sent += [
        desk.report(order, t17="SEEN", t32="2", t14="5"),
        desk.report(order, t17="LOST", t32="3", t14="5"),
    ]
    (found,) = own.section.differences.open()
    assert order.sending is not None
    price = str(dict(OrderSending.of(order.sending).fields)[44])
    asked: Body = {"reason": "lost", "evidence": "file", "price": price, "lots": 3}
    request = ResolveRequest.model_validate({"right": "broker", **asked})
    text = resolution_statement(str(listed(own)["log_id"]), found.seq, found.leaf.hex(), request)
    signatures = {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}
    resolve(own, "otto", found.seq, request.model_copy(update={"signatures": signatures}))
    return broker


def _adjusted(folder: Path) -> Broker:
    """An adjustment of each sort, beside an order that is bought and partly taken back."""
    desk = memory_desk(folder)
    position = {"instrument": "SPXN", "quantity": 400, "price": "250.00"}
    adjusted(desk, sort="opening", ref="opening", amount="500000.00", positions=[position])
    broker, order = Broker(desk), desk.rest(50)
    lots = quantity(order)
    broker.says(desk.report(order, t32=str(lots), t14=str(lots), t151="0", t39="2"))
    spxn = {"instrument": "SPXN"}
    adjusted(desk, sort="dividend", ref="dividend", amount="80.00", **spxn)
    adjusted(desk, sort="fee", ref="fee", amount="25.00")
    adjusted(desk, sort="cash", ref="cash", amount="-0.50")
    phoned = {**spxn, "quantity": 3, "price": "251.00", "fee": "1.25"}
    adjusted(desk, sort="trade", ref="trade", side="BUY", reference="P1", **phoned)
    adjusted(desk, sort="give_up", ref="give_up", side="SELL", **phoned)
    own = desk.small.desk.own
    (mark,) = own.tools.ledger.append(
        mark_taken(
            replace(desk.small.tags, account=AGENT_ACCOUNT),
            instrument="SPXN",
            market_time_us=own.market.now_us(),
            price_ticks=25_100,
            kind="close",
            session_index=1,
            session_date="2018-01-02",
        )
    )
    marks = f"{mark.seq}-{mark.seq}"
    adjusted(desk, sort="mark", ref="mark", marks=marks, price="250.00", **spxn)
    adjusted(desk, sort="mark", ref="no-mark", marks=marks, **spxn)
    adjusted(
        desk, sort="split", ref="split", account="", ratio="2:1", effective="2018-01-02", **spxn
    )
    adjusted(desk, sort="split", ref="now", account="", ratio="3:1", **spxn)
    return broker


def _governed(folder: Path) -> Broker:
    """Acts of officers, one of each sort; `Broker.ledger` lets them sign."""
    desk = memory_desk(folder)
    nobody: dict[str, JSON] = dict.fromkeys(SIGNING_ROLES, "0" * 128)
    signed: dict[str, JSON] = {"signatures": nobody, "log_id": "-"}
    by: dict[str, JSON] = {"actor_name": "ada", "reason": "test"}
    criteria = document_of(PRODUCT)
    terms = _justification()
    seq = desk.log.size
    ids: dict[str, JSON] = {name: TESTED[name] for name in ("model_id", "model_digest")}
    report = desk.log.put_blob(b"a report of a model pair")
    acts: tuple[tuple[Kind, dict[str, JSON]], ...] = (
        (Kind.PROMOTION_TESTED, {**TESTED, "report_blob": report}),
        (Kind.MODEL_PROMOTED, {**ids, "report_blob": report, "tested_seq": seq, **signed}),
        (Kind.STOP_BEGUN, {"stop": "breaker", "stop_id": "ab" * 16, **by}),
        (
            Kind.STOP_ENDED,
            {"stop_ids": ["ab" * 16], "ended_by": "ada", "reason": "test", **signed},
        ),
        (
            Kind.FAIRNESS_AGREED,
            {
                "criteria": criteria,
                "criteria_digest": criteria_digest(PRODUCT),
                "notice_days": 7,
                "actor_name": "ada",
                **signed,
            },
        ),
        (
            Kind.JUSTIFICATION_ENTERED,
            {"ref": terms["ref"], "terms": terms, "actor_name": "ada", **signed},
        ),
        (Kind.KILL_PRESSED, {"kill_epoch": 1, "press_id": "cd" * 16, "confirmed": True, **by}),
        (
            Kind.KILL_RELEASED,
            {
                "kill_epoch": 1,
                "press_id": "cd" * 16,
                "released_by": "ada",
                "reason": "test",
                **signed,
            },
        ),
        (
            Kind.PUBLICATION_NOTED,
            {
                "ref": "note-1",
                "instrument": "SPXN",
                "published_us": 1,
                "author": "ada",
                "medium": "research",
                "reference": "",
                "actor_name": "ada",
            },
        ),
        (
            Kind.MODE_ENTERED,
            {
                **desk.small.tags.document(),
                "mode": "pilot",
                "before": "",
                "sender": "S",
                "target": "T",
                "limits": "e" * 64,
                **signed,
            },
        ),
    )
    for number, (kind, payload) in enumerate(acts):
        desk.small.desk.own.tools.ledger.append(
            Draft(
                stream="control",
                kind=kind,
                payload=payload,
                actor="person:ada",
                idem_key=f"act:{number}",
            )
        )
    _end_acts(desk, nobody)
    return Broker(desk)


def _end_acts(desk: MemoryDesk, signatures: JSON) -> None:
    """End a record of each kind that both officers may end."""
    ledger = desk.small.desk.own.tools.ledger
    for spec in (one for one in KINDS.values() if one.ends):
        *_, act = desk.log.records(kinds=(Kind(spec.ends),))
        ended: dict[str, JSON] = {"ref": act.body["ref"], "of_seq": act.seq}
        ended |= {"of_leaf": act.leaf.hex(), "reason": "wrong", "ended_by": "ada"}
        ledger.append(
            Draft(
                stream="control",
                kind=spec.kind,
                payload=ended | {"signatures": signatures},
                actor="person:ada",
                idem_key=f"ended:{spec.kind}",
            )
        )


def _justification() -> dict[str, JSON]:
    return {
        "ref": "j-1",
        "mechanism": "sanctions",
        "attribute": "region",
        "asset_class": "index",
        "side": "",
        "horizon_us_max": 1,
        "bound_bp": 10,
        "valid_from_us": 1,
        "valid_to_us": 2,
        "evidence": ["f" * 64],
        "dissent": "",
        "supersedes": "",
        "proposer": "ada",
    }


SCENES: Mapping[str, Callable[[Path], Broker]] = {
    "orders": _orders,
    "joint": _joint,
    "direct": _direct,
    "held": _held,
    "replaced": _replaced,
    "resolved": _resolved,
    "adjusted": _adjusted,
    "governed": _governed,
}
