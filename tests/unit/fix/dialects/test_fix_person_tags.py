"""Every field of the dictionary is a person's, words, or neither; what nobody declared is words."""

import re
import signal
from pathlib import Path

import pytest

from fix.dialects import profile
from fix.dialects.data_tags import LENGTH_TAGS
from fix.dialects.person_tags import (
    GROUP_TAGS,
    GROUPS,
    KNOWN_MAX,
    LATER,
    MACHINE_TAGS,
    NAMED_TAGS,
    NOT_PERSONS,
    PERSON_TAGS,
    TEXT_TAGS,
    is_undeclared,
    is_user_defined,
)
from fix.dialects.profile import parse_profile, profile_document, simulator_profile
from fix.errors import ProfileError
from fix.wire.fields import SOH
from fix.wire.messages import parse
from fix.wire.persons import Redacted, redacted, restored, scrubbings, subject_at
from fix.wire.reports import ExecutionReport, parse_inbound

DICTIONARY = Path(profile.__file__).parent / "dictionary" / "FIX44.xml"
NEITHER = """
AvgPx BeginString CheckSum ClOrdID Commission CommType CumQty Currency ExecID ExecInst ExecRefID
HandlInst SecurityIDSource LastCapacity LastMkt LastPx LastQty MsgType OrderID OrderQty OrdStatus
OrdType OrigClOrdID Price SecurityID Side Symbol TimeInForce TransactTime SettlType SettlDate
TradeDate StopPx ExDestination CxlRejReason OrdRejReason MinQty TestReqID ExpireTime MiscFeeAmt
MiscFeeCurr MiscFeeType ExecType LeavesQty EffectiveTime SecondaryOrderID SecurityExchange
TradingSessionID MessageEncoding RefMsgType ExecRestatementReason BusinessRejectRefID
BusinessRejectReason GrossTradeAmt ExpireDate CxlRejResponseTo ContraTradeQty ContraTradeTime
PartyIDSource PartyRole SecurityAltID SecurityAltIDSource CommCurrency ContAmtType ContAmtValue
ContAmtCurr SecondaryClOrdID OrderCapacity OrderRestrictions MassCancelRequestType
MassCancelResponse MassCancelRejectReason TotalAffectedOrders AffectedOrderID
AffectedSecondaryOrderID ClOrdLinkID MassStatusReqID MassStatusReqType WorkingIndicator
ContraLegRefID OrdStatusReqID MiscFeeBasis TotNumReports LastRptRequested OrderOrigination
PartyRoleQualifier OrderAttributeType OrderAttributeValue
""".split()  # noqa: SIM905 - one word each, readable
"""Numbers, codes, times and keys of the dictionary; firms are in `NOT_PERSONS`."""
PARTY = {"PartyID"}
JANE, JOERG = "Jane Roe", "Jörg Übel".encode().decode("latin-1")


class People:
    """Pseudonyms as a vault gives them, in memory."""

    def __init__(self, *known: str) -> None:
        self.names: dict[str, str] = {}
        self.said: dict[str, str] = {}
        for name in known:
            self.subject(name)

    def subject(self, name: str) -> str:
        return self.names.setdefault(name, f"psn-{'b' * len(self.names):a<16}")

    def words(self, text: str) -> str:
        return self.said.setdefault(text, f"psn-{'d' * len(self.said):c<16}")

    def named_in(self, text: str) -> str | None:
        return next((who for name, who in self.names.items() if name in text), None)


def framed(*fields: tuple[int, str]) -> str:
    body = "".join(f"{tag}={value}{SOH}" for tag, value in ((35, "8"), *fields))
    text = f"8=FIX.4.4{SOH}9={len(body)}{SOH}{body}"
    return f"{text}10={sum(text.encode('latin-1')) % 256:03d}{SOH}"


def out(raw: str, *known: str, public: tuple[int, ...] = ()) -> Redacted:
    people = People(*known)
    done = redacted(raw, people.subject, people.named_in, words=people.words, public=public)
    parse(done.text)
    assert restored(done.text, {one.path: one.value for one in done.named}) == raw
    assert all(one.subject in (subject_at(done.text, one.path) or "") for one in done.named)
    again = redacted(done.text, people.subject, people.named_in, words=people.words, public=public)
    assert again.named == (), "twice is once"
    return done


def taken(done: Redacted) -> list[int]:
    return [int(one.path.rpartition("/")[2]) for one in done.named]


def test_every_word_of_the_dictionary_is_classified() -> None:
    fields = re.findall(
        r"<field number='(\d+)' name='(\w+)' type='(?:STRING|DATA)'", DICTIONARY.read_text()
    )
    assert len(fields) > 100, "or the dictionary is written in another way"
    for number, name in fields:
        tag = int(number)
        classes = [tag in PERSON_TAGS, tag in TEXT_TAGS, tag in NOT_PERSONS]
        classes += [name in NEITHER, name in PARTY]
        assert classes.count(True) == 1, f"{name} ({tag}): a person's, words, or neither?"
        assert not is_undeclared(tag), f"{name} ({tag}) is above {KNOWN_MAX}: say what it is"
    assert {"PartyID"} == PARTY
    assert GROUPS[0][0] in NAMED_TAGS
    assert {*NEITHER, *PARTY} <= {name for _, name in fields}


def test_the_tables_do_not_contradict_each_other() -> None:
    tables = (set(PERSON_TAGS), set(TEXT_TAGS), set(NOT_PERSONS), set(GROUP_TAGS), set(LATER))
    assert sum(map(len, tables)) - 1 == len(set().union(*tables)), "2376 alone is in two"
    assert not NAMED_TAGS & MACHINE_TAGS
    assert set(LENGTH_TAGS.values()) <= NAMED_TAGS
    assert not any(is_undeclared(tag) for table in tables for tag in table)
    assert is_undeclared(3000)
    assert [is_user_defined(tag) for tag in (4999, 5000, 9999, 10000, 39999, 40000)] == [
        False, True, True, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("tag", [337, 180, 288, 488, 511, 931, 1404, 757, 1415, 1117, 785, 1412])
def test_a_field_of_a_person_is_taken_out(tag: int) -> None:
    done = out(framed((375, "BRKR"), (tag, JANE)))
    assert JANE not in done.text
    assert "375=BRKR" in done.text


@pytest.mark.parametrize("tag", [5000, 5700, 9999, 10000, 20001, 39999, 3000, 45000])
@pytest.mark.parametrize("value", [JANE, JOERG, "JROE", "Ng Bo", "王伟".encode().decode("latin-1")])
def test_what_nobody_declared_is_words_of_nobody_known(tag: int, value: str) -> None:
    done = out(framed((34, "1"), (tag, value)))
    assert (taken(done), value in done.text) == ([tag], False)
    assert scrubbings(framed((tag, value)).encode("latin-1"))[-1].count(b"*") == len(value)
    assert out(framed((tag, value)), public=(tag,)).named == (), "declared by the profile"
    known = value.encode("latin-1").decode("utf-8")
    assert out(framed((tag, value)), known, public=(tag,)).named != (), "but known all the same"


@pytest.mark.parametrize("value", ["1", "-12.50", "20261121-10:00:00.123", "Y", "AB12C9", "A" * 20])
def test_a_code_of_nobody_stays(value: str) -> None:
    assert out(framed((5700, value))).named == ()


def test_the_name_goes_from_every_other_field() -> None:
    report = framed(
        (34, "7"), (50, JOERG), (11, "jroe-1"), (37, f"{JOERG}/4"), (17, f"X-{JOERG.upper()}-1"),
        (375, JOERG), (76, "BRKR"), (161, f"ask {JOERG}."), (5700, JOERG), (48, "JUBEL"),
    )  # fmt: skip
    done = out(report)
    assert taken(done) == [50, 37, 17, 375, 161, 5700]
    assert len({one.subject for one in done.named}) == 1
    assert JOERG not in done.text


def test_keys_that_begin_with_a_name_stay_apart() -> None:
    people, ids = People(), set()
    for n in range(3):
        raw = framed((50, "JROE"), (17, f"JROE-{n}"), (37, f"o jroe {n}"))
        done = redacted(raw, people.subject, people.named_in)
        assert "roe" not in done.text.casefold()
        ids.add(dict(parse(done.text))[17])
    assert len(ids) == 3


def test_a_report_is_the_same_report_whoever_is_named_like_its_fields() -> None:
    order = "ABCDEFGHIJ2345672345"
    fields = [
        (34, "7"), (49, "EMSSIM"), (56, "SPXN"), (52, "20261121-10:00:00"), (37, "E1"),
        (11, order), (17, "X1"), (150, "F"), (39, "2"), (55, "SPXN"), (54, "1"), (38, "700"),
        (32, "700"), (31, "269.58"), (151, "0"), (14, "700"), (6, "269.58"), (15, "USD"),
    ]  # fmt: skip
    plain = parse_inbound(framed(*fields))
    for name in ("SPXN", "USD", order, "EMSSIM", "20261121-10:00:00", "X1", "700"):
        done = out(framed(*fields, (50, name), (5700, order), (5701, "SPXN")))
        again = parse_inbound(done.text)
        assert isinstance(again, ExecutionReport)
        assert again == plain, f"named {name}"


def test_the_length_of_a_text_goes_with_it() -> None:
    for data, length in ((361, 360), (355, 354), (359, 358)):
        texts = [f"{JANE} says {'no ' * n}".strip() for n in (1, 9)]
        one, other = (
            out(framed((length, str(len(text))), (data, text), (34, "1")), JANE).text
            for text in texts
        )
        assert one == other
    unreadable = JANE.encode("utf-16").decode("latin-1")
    assert taken(out(framed((360, "18"), (361, unreadable)))) == [360, 361]
    assert out(framed((360, "2"), (361, "ok"))).named == ()


def test_a_name_far_into_a_text_is_seen() -> None:
    assert taken(out(framed((58, "x " * 500 + JANE)), JANE)) == [58]


def test_a_profile_declares_only_what_is_its_own() -> None:
    profile = simulator_profile(1)
    document = profile_document(profile).replace('"public_tags":[]', '"public_tags":[5700,20001]')
    assert parse_profile(document).public_tags == (5700, 20001)
    assert parse_profile(profile_document(parse_profile(document))) == parse_profile(document)
    for tag in (50, 58, 337, 448, 11, 1):
        with pytest.raises(ProfileError):
            parse_profile(document.replace("5700", str(tag)))


def test_ctrl_c_in_the_tests_is_pythons_though_quickfix_took_it() -> None:
    caught = re.search(r"SigCgt:\t(\w+)", Path("/proc/self/status").read_text())
    assert caught is not None
    assert int(caught[1], 16) >> (signal.SIGINT - 1) & 1, "or a Ctrl-C ends pytest in mid-air"
