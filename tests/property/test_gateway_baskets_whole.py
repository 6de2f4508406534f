"""Whatever a basket asks for, all of its orders leave or none does, and each leg has its end."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.records.kinds import Kind
from gateway.desk.agents.baskets import submit_basket
from gateway.desk.bodies.basket_requests import BasketRequest, BasketResponse
from gateway.desk.bodies.requests import IntentRequest
from gateway.walk.journal.standing import Stage
from tests.doubles.memory_desk import AGENT, MemoryDesk, memory_desk

SIZES = st.sampled_from([(0, 1), (2_000, 1), (2_000, 40), (2_800, 1_000), (90_000, 1_000_000)])
"""Nothing to trade, small, small, one that needs a person, one beyond the limits."""


def asked(desk: MemoryDesk, sizes: tuple[tuple[int, int], ...]) -> BasketResponse:
    legs = [
        IntentRequest(
            client_key=name, instrument=name, target_exposure_bp=exposure, max_qty_lots=lots
        )
        for name, (exposure, lots) in zip(desk.small.desk.own.instruments, sizes, strict=False)
    ]
    request = BasketRequest(client_key="whole", legs=legs)
    return submit_basket(desk.small.desk, AGENT, request)


@settings(max_examples=15, deadline=None)
@given(sizes=st.tuples(SIZES, SIZES))
def test_all_orders_of_a_basket_leave_or_none_does(sizes: tuple[tuple[int, int], ...]) -> None:
    with TemporaryDirectory() as folder:
        desk = memory_desk(Path(folder))
        answer = asked(desk, sizes)
        verdicts = desk.log.of_kind(Kind.VERDICT_GIVEN)
        results = [str(one.body["result"]) for one in verdicts]
        (decided,) = desk.log.of_kind(Kind.BASKET_DECIDED)
        passes = set(results) <= {"approved"}
        assert decided.body["outcome"] == (
            "stopped" if not passes else "approved" if results else "no_trade"
        )
        assert len(desk.small.broker.orders) == (len(results) if passes else 0)
        for one in answer.legs:
            left = one.result == "approved"
            assert desk.standing(one.decision_id).stage is (Stage.SENT if left else Stage.SEALED)
        assert desk.reserved() == 0 or passes
        assert all(one.seq > decided.seq for one in desk.log.of_kind(Kind.ORDER_SENDING))
