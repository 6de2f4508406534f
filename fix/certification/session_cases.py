"""Cases of the session layer.

Source: FIX Session Layer Test Cases 1.0 (ISO 3531-3:2022), as an initiator can bring them about.
"""

from typing import Final

from fix.certification.cases import CertifyRun, FixCase, WireMessage, always
from fix.dialects.profile import SessionMode
from fix.errors import CertifyError
from fix.wire.messages import OrderWords, cancel, limit_order

SKIPPED: Final = 5
FORGOTTEN: Final = 2
_TYPE, _TEST_REQ_ID, _RESET, _GAP_FILL, _POSS_DUP = 35, 112, 141, 123, 43
_LOGON, _LOGOUT, _TEST, _HEARTBEAT, _RESEND, _SEQUENCE = "A", "5", "1", "0", "2", "4"
_NO_SIDE = "Z"


def _is(one: WireMessage, msg_type: str, *, ours: bool) -> bool:
    return one.ours is ours and one.fields[_TYPE] == msg_type


def _logon(run: CertifyRun) -> str:
    run.session.connect()
    run.expect("Logon (A)", lambda one: _is(one, _LOGON, ours=False))
    asked = run.expect("TestRequest (1) of ours", lambda one: _is(one, _TEST, ours=True))
    name = asked.fields[_TEST_REQ_ID]
    run.expect(
        f"Heartbeat (0) with 112={name}",
        lambda one: _is(one, _HEARTBEAT, ours=False) and one.fields.get(_TEST_REQ_ID) == name,
    )
    return f"logged on; {name} answered"


def _heartbeat(run: CertifyRun) -> str:
    every_s = run.profile.heartbeat_s
    run.expect(
        "Heartbeat (0) without a question",
        lambda one: _is(one, _HEARTBEAT, ours=False) and _TEST_REQ_ID not in one.fields,
        2.0 * every_s + run.patience_s,
    )
    return f"one came, HeartBtInt {every_s} s"


def _resumes(run: CertifyRun) -> str:
    if run.profile.mode is SessionMode.RESUME:
        return ""
    return "mode = reset: numbers begin at 1 at each logon"


def _our_gap(run: CertifyRun) -> str:
    run.session.disconnect()
    run.session.connect(skip=SKIPPED)
    asked = run.expect("ResendRequest (2)", lambda one: _is(one, _RESEND, ours=False))
    run.expect(
        "gap fill (4 with 123=Y) of ours",
        lambda one: _is(one, _SEQUENCE, ours=True) and one.fields.get(_GAP_FILL) == "Y",
    )
    return f"they asked from {asked.fields.get(7)} on; filled, and the logon is proven"


def _their_gap(run: CertifyRun) -> str:
    run.session.disconnect()
    run.session.connect(forget=FORGOTTEN)
    asked = run.expect("ResendRequest (2) of ours", lambda one: _is(one, _RESEND, ours=True))
    again = run.expect("message sent again or gap fill", _answers_resend)
    marked = "answered" if again.fields.get(_POSS_DUP) == "Y" else "answered without 43=Y"
    return f"we asked from {asked.fields.get(7)} on; {marked}, and the logon is proven"


def _answers_resend(one: WireMessage) -> bool:
    fills = _is(one, _SEQUENCE, ours=False) and one.fields.get(_GAP_FILL) == "Y"
    return fills or (not one.ours and one.fields.get(_POSS_DUP) == "Y")


def _reject(run: CertifyRun) -> str:
    """Send a cancel of an order that never was, with a side that FIX does not have."""
    words = OrderWords(
        name="NONE",
        account="",
        instrument="NONE",
        side=_NO_SIDE,
        quantity="1",
        price="1",
        time_in_force="0",
    )
    order = limit_order(run.profile, words, run.session.wall_us())
    run.request(
        "F with 54=Z",
        "NONE",
        lambda name: cancel(order, cancel_id=name, transact_time_us=run.session.wall_us()),
    )
    answer = run.expect(
        "Reject (3, j or 9)", lambda one: not one.ours and one.fields[_TYPE] in {"3", "j", "9"}
    )
    if any(_is(one, _LOGOUT, ours=False) for one in run.since()):
        raise CertifyError(problem="they ended the session over one malformed message")
    return f"35={answer.fields[_TYPE]}, the session goes on"


def _resets(run: CertifyRun) -> str:
    if run.profile.mode is SessionMode.RESET:
        return ""
    return "mode = resume: numbers continue; a restart is the broker's to begin"


def _is_reset(one: WireMessage, *, ours: bool) -> bool:
    return _is(one, _LOGON, ours=ours) and one.fields.get(_RESET) == "Y"


def _reset(run: CertifyRun) -> str:
    run.session.disconnect()
    run.session.connect()
    run.expect("Logon of ours with 141=Y", lambda one: _is_reset(one, ours=True))
    run.expect("Logon with 141=Y", lambda one: _is_reset(one, ours=False))
    return "both logons have 141=Y"


def _logout(run: CertifyRun) -> str:
    run.session.disconnect()
    run.expect("Logout (5) of ours", lambda one: _is(one, _LOGOUT, ours=True))
    run.expect("Logout (5)", lambda one: _is(one, _LOGOUT, ours=False))
    return "answered"


LOGON: Final = FixCase(
    name="logon",
    expected="Logon both ways; our TestRequest is answered by a Heartbeat with its 112",
    lacks=always,
    act=_logon,
)
SESSION_CASES: Final = (
    FixCase(
        name="heartbeat",
        expected="a Heartbeat without a question, within twice HeartBtInt",
        lacks=always,
        act=_heartbeat,
    ),
    FixCase(
        name="gap in our numbers",
        expected="they ask for the missing messages (2); we fill the gap; the session goes on",
        lacks=_resumes,
        act=_our_gap,
    ),
    FixCase(
        name="gap in their numbers",
        expected="we ask for the missing messages (2); they send them again or fill the gap",
        lacks=_resumes,
        act=_their_gap,
    ),
    FixCase(
        name="reset",
        expected="both numbers begin at 1 (141=Y in both logons)",
        lacks=_resets,
        act=_reset,
    ),
    FixCase(
        name="reject",
        expected="a cancel with a side that FIX does not have is rejected; the session goes on",
        lacks=always,
        act=_reject,
    ),
)
LOGOUT: Final = FixCase(
    name="logout", expected="our Logout is answered by a Logout", lacks=always, act=_logout
)
