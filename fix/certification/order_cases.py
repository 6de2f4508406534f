"""Cases of orders, at the sizes and prices that the profile's [certify] names and no others."""

from collections.abc import Callable
from typing import Final

from fix.certification.cases import CertifyRun, FixCase, WireMessage, is_about
from fix.dialects.profile import CertifyTerms
from fix.errors import CertifyError
from fix.wire.messages import cancel, mass_cancel, mass_status_request, status_request

NEW, PART, FILLED, GONE, REJECTED = "0", "1", "2", "4", "8"
_TYPE, _CUM_QTY, _STATUS, _EXEC_TYPE, _TRANS_TYPE = 35, 14, 39, 150, 20
_ORDER_QTY, _ORD_REJ_REASON = 38, 103
_RESPONSE, _RESPONSE_REFUSED = 531, "0"


def terms_of(run: CertifyRun) -> CertifyTerms:
    """Return the profile's [certify].

    Raises:
        CertifyError: it has none.
    """
    if run.profile.certify is None:
        raise CertifyError(problem="the profile has no [certify]")
    return run.profile.certify


def _lacks(*keys: str, capability: str = "") -> Callable[[CertifyRun], str]:
    """Return a check of the profile: these keys of [certify] are set, this capability is true."""

    def check(run: CertifyRun) -> str:
        if run.profile.certify is None:
            return "the profile has no [certify]: it says which orders may be sent"
        missing = [key for key in keys if not getattr(run.profile.certify, key)]
        if missing:
            return f"[certify] has no {missing[0]}"
        if capability and not getattr(run.profile.capabilities, capability):
            return f"capabilities.{capability} = false"
        return ""

    return check


def _while_resting(check: Callable[[CertifyRun], str]) -> Callable[[CertifyRun], str]:
    return lambda run: check(run) or ("" if run.resting else "no order rests")


def _rest(run: CertifyRun) -> str:
    terms = terms_of(run)
    name = run.order(quantity=terms.rest_quantity, price=terms.rest_price)
    run.status(name, NEW)
    return name


def _new_order(run: CertifyRun) -> str:
    run.resting = _rest(run)
    return f"{run.resting} works at {terms_of(run).rest_price}"


def _is_status(one: WireMessage) -> bool:
    return one.fields.get(_EXEC_TYPE) == "I" or one.fields.get(_TRANS_TYPE) == "3"


def _order_status(run: CertifyRun) -> str:
    order = run.orders[run.resting]
    run.request("H", run.resting, lambda _: status_request(order))
    told = run.expect("status report", lambda one: not one.ours and _is_status(one))
    if told.fields.get(_STATUS) != NEW:
        raise CertifyError(problem=f"it says 39={told.fields.get(_STATUS)}, the order works")
    return "39=0"


def _mass_status(run: CertifyRun) -> str:
    run.request("AF", "", lambda name: mass_status_request(request_id=name))
    run.expect("status report", lambda one: not one.ours and _is_status(one))
    return f"{sum(not one.ours and _is_status(one) for one in run.since())} orders told"


def _ask_cancel(run: CertifyRun, name: str) -> str:
    order = run.orders[name]
    return run.request(
        "F",
        name,
        lambda own: cancel(order, cancel_id=own, transact_time_us=run.session.wall_us()),
    )


def _cancel(run: CertifyRun) -> str:
    _ask_cancel(run, run.resting)
    run.status(run.resting, GONE)
    return "39=4"


def _cancel_reject(run: CertifyRun) -> str:
    _ask_cancel(run, run.resting)
    told = run.expect(
        "OrderCancelReject (9)", lambda one: not one.ours and one.fields[_TYPE] == "9"
    )
    return f"102={told.fields.get(102, '-')}"


def _fill(run: CertifyRun) -> str:
    terms = terms_of(run)
    name = run.order(quantity=terms.fill_quantity, price=terms.fill_price)
    told = run.status(name, FILLED)
    if _number(told.fields.get(_CUM_QTY, "")) != terms.fill_quantity:
        raise CertifyError(problem=f"39=2 with 14={told.fields.get(_CUM_QTY)}")
    return f"39=2, 14={told.fields[_CUM_QTY]}"


def _partial(run: CertifyRun) -> str:
    terms = terms_of(run)
    name = run.order(quantity=terms.partial_quantity, price=terms.fill_price)
    told = run.status(name, PART)
    return f"39=1, 14={told.fields.get(_CUM_QTY)}"


def _number(text: str) -> int:
    whole, _, part = text.partition(".")
    return int(whole) if whole.isdigit() and not part.strip("0") else -1


def _order_reject(run: CertifyRun) -> str:
    terms = terms_of(run)
    name = run.order(
        quantity=terms.rest_quantity, price=terms.rest_price, symbol=terms.reject_symbol
    )
    told = run.expect(
        "rejection (8 with 39=8, 3 or j)",
        lambda one: (
            not one.ours
            and (one.fields[_TYPE] in {"3", "j"} or one.fields.get(_STATUS) == REJECTED)
        ),
    )
    if told.fields[_TYPE] != "8":
        del run.orders[name]
    return f"35={told.fields[_TYPE]}, 103={told.fields.get(_ORD_REJ_REASON, '-')}"


def _mass_cancel(run: CertifyRun) -> str:
    names = [_rest(run), _rest(run)]
    run.request(
        "q",
        "",
        lambda own: mass_cancel(cancel_id=own, transact_time_us=run.session.wall_us()),
    )
    told = run.expect(
        "OrderMassCancelReport (r)", lambda one: not one.ours and one.fields[_TYPE] == "r"
    )
    if told.fields.get(_RESPONSE) == _RESPONSE_REFUSED:
        raise CertifyError(problem="531=0: refused")
    for name in names:
        run.status(name, GONE)
    return "both orders 39=4"


def _cancel_on_disconnect(run: CertifyRun) -> str:
    name = _rest(run)
    run.session.cut()
    order = run.orders[name]
    if run.profile.capabilities.order_status:
        run.request("H", name, lambda _: status_request(order))
    run.status(name, GONE)
    return "39=4 after the line was cut"


def _replace(run: CertifyRun) -> str:
    """Ask for one more; the order's new ClOrdID names it from here on."""
    quantity = terms_of(run).rest_quantity + 1
    new = run.replace(run.resting, quantity=quantity)
    told = run.expect(
        f"report (8) with 150=5 for {new}",
        lambda one: is_about(one, new) and one.fields.get(_EXEC_TYPE) == "5",
    )
    if _number(told.fields.get(_ORDER_QTY, "")) != quantity:
        raise CertifyError(problem=f"150=5 with 38={told.fields.get(_ORDER_QTY)}")
    del run.orders[run.resting]
    run.resting = new
    return f"150=5, 38={quantity}"


ORDER_CASES: Final = (
    FixCase(
        name="new order",
        expected="an order far from the market is acknowledged (39=0)",
        lacks=_lacks(),
        act=_new_order,
    ),
    FixCase(
        name="order status",
        expected="a status request (H) is answered with the order's state",
        lacks=_while_resting(_lacks(capability="order_status")),
        act=_order_status,
    ),
    FixCase(
        name="mass status",
        expected="a mass status request (AF) is answered with the orders that work",
        lacks=_while_resting(_lacks(capability="mass_status")),
        act=_mass_status,
    ),
    FixCase(
        name="replace",
        expected="a replace (G) by a larger quantity is confirmed (150=5)",
        lacks=_while_resting(_lacks(capability="replace")),
        act=_replace,
    ),
    FixCase(
        name="cancel",
        expected="a cancel (F) is confirmed (39=4)",
        lacks=_while_resting(_lacks()),
        act=_cancel,
    ),
    FixCase(
        name="cancel reject",
        expected="a second cancel of the same order is rejected (9)",
        lacks=_while_resting(_lacks()),
        act=_cancel_reject,
    ),
    FixCase(
        name="fill",
        expected="an order is filled whole (39=2, 14 as ordered)",
        lacks=_lacks("fill_quantity", "fill_price"),
        act=_fill,
    ),
    FixCase(
        name="partial fill",
        expected="an order is filled in part (39=1)",
        lacks=_lacks("partial_quantity", "fill_price"),
        act=_partial,
    ),
    FixCase(
        name="order reject",
        expected="an order in an instrument that they do not have is rejected",
        lacks=_lacks("reject_symbol"),
        act=_order_reject,
    ),
    FixCase(
        name="mass cancel",
        expected="a mass cancel (q) is confirmed (r), and each order (39=4)",
        lacks=_lacks(capability="mass_cancel"),
        act=_mass_cancel,
    ),
    FixCase(
        name="cancel on disconnect",
        expected="an order is cancelled when the connection breaks (39=4)",
        lacks=_lacks(capability="cancel_on_disconnect"),
        act=_cancel_on_disconnect,
    ),
)


def _leave_nothing(run: CertifyRun) -> str:
    """Cancel whatever still works; an order that nobody ended fails the run."""
    left = run.open_orders()
    if left:
        run.session.recover()
    for name in left:
        _ask_cancel(run, name)
    for name in left:
        run.status(name, GONE, FILLED, REJECTED)
    return f"{len(left)} cancelled" if left else "nothing was left"


CLEAN_UP: Final = FixCase(
    name="nothing is left",
    expected="every order of the run has ended",
    lacks=lambda run: "" if run.orders else "no order was sent",
    act=_leave_nothing,
)
