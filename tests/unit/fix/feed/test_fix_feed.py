"""Market data from messages: what becomes a quote, what is asked again, what is told as wrong."""

from pathlib import Path

import pytest
import quickfix

from fix.dialects.market_data import EventTime, MarketData, Updates
from fix.dialects.profile import Profile, simulator_profile
from fix.dialects.profile_text import parse_profile_text
from fix.dialects.versions import SPEECH, Version
from fix.errors import ProfileError, ReportError
from fix.feed.subscriptions import AGAIN_US, Subscriptions
from fix.session.dictionaries import DICTIONARIES, SHIPPED
from fix.session.link import Frame
from fix.wire.market_data import BookMessage, read_answer, request
from fix.wire.messages import Fields, parse, wire_text
from gateway.installation.children.fix_profiles import profile_record, read_profile

S = 1_000_000
GROUPED = {146, 55, 267, 269}
SENT = "20261123-10:00:00.250"
SENT_US = 1_795_428_000_250_000
TABLE = """
[market_data]
sender_comp_id = "DESK-MD"
target_comp_id = "BROKER-MD"
port = 9999
"""
RULES = MarketData(sender_comp_id="US", target_comp_id="THEM", port=1)


def message(text: str, begin: str = "FIX.4.4") -> str:
    fields = [
        (int(tag), value) for tag, _, value in (one.partition("=") for one in text.split("|"))
    ]
    return wire_text([fields[0], (52, SENT), *fields[1:]], begin_string=begin)


def begun(rules: MarketData = RULES, *symbols: str) -> Subscriptions:
    wanted = Subscriptions(rules, symbols or ("AAPL",), prefix="r", before_44=False)
    wanted.logged_on(0)
    for number, ask in enumerate(wanted.due(0), start=2):
        wanted.sent(ask.request_id, number)
    return wanted


def said(wanted: Subscriptions, text: str, now_us: int = 0) -> list[Frame]:
    return list(wanted.received(message(text), now_us))


SNAPSHOT = "35=W|262=r-1|55=AAPL|268=2|269=0|270=100.10|271=5|269=1|270=100.3000|271=7"


def quoted(frames: list[Frame]) -> list[tuple[object, ...]]:
    return [(one["number"], one["bid"], one["ask"], one["last"]) for one in frames]


def test_a_snapshot_and_its_changes_are_quotes() -> None:
    wanted = begun()
    (first,) = said(wanted, SNAPSHOT)
    assert (first["ev"], first["symbol"], first["event_us"]) == ("quote", "AAPL", SENT_US)
    assert quoted([first]) == [(1, "100.1", "100.3", None)]
    change = "35=X|262=r-1|268=2|279=1|269=0|278=b|55=AAPL|270=100.2|279=0|269=2|55=AAPL|270=100.25"
    assert quoted(said(wanted, change)) == [(2, "100.2", "100.3", "100.25")]


def test_entries_keep_their_names_over_replacement() -> None:
    wanted = begun()
    said(wanted, SNAPSHOT)
    said(wanted, "35=X|262=r-1|268=1|279=0|269=0|278=b1|55=AAPL|270=100.15")
    moved = said(wanted, "35=X|262=r-1|268=1|279=1|269=0|278=b2|280=b1|55=AAPL|270=100.2")
    assert quoted(moved) == [(3, "100.2", "100.3", None)]
    (gone,) = said(wanted, "35=X|262=r-1|268=1|279=2|269=0|278=b2|55=AAPL")
    assert (gone["what"], gone["detail"]) == ("incomplete", "no bid")
    assert said(wanted, "35=X|262=r-1|268=1|279=1|269=1|55=AAPL|270=100.4") == [], "told once"


def test_an_unknown_entry_ends_the_request_and_asks_again() -> None:
    wanted = begun()
    said(wanted, SNAPSHOT)
    said(wanted, "35=X|262=r-1|268=1|279=0|269=0|278=b1|55=AAPL|270=100.15")
    (wrong,) = said(wanted, "35=X|262=r-1|268=1|279=2|269=0|278=zz|55=AAPL", S)
    assert (wrong["what"], wrong["detail"]) == ("incomplete", "deletion of an unknown entry 'zz'")
    assert list(wanted.due(S)) == [], "at most once in 5 s"
    assert said(wanted, SNAPSHOT, S) == [], "the old request is not believed"
    end, anew = wanted.due(AGAIN_US)
    assert dict(end.fields)[263] == "2"
    assert (dict(end.fields)[262], anew.request_id) == ("r-1", "r-2")
    assert quoted(said(wanted, SNAPSHOT.replace("r-1", "r-2"))) == [(3, "100.1", "100.3", None)]


def test_changes_before_a_snapshot_are_ignored() -> None:
    assert said(begun(), "35=X|262=r-1|268=1|279=0|269=0|278=b|55=AAPL|270=1") == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("35=Y|262=r-1|281=0|58=no", "281=0: unknown symbol no"),
        ("35=Y|262=r-1", "281=missing"),
        ("35=j|45=2|372=V|380=3|58=not here", "35=j 380=3 not here"),
        ("35=3|45=2|372=V|373=5", "35=3 373=5"),
    ],
)
def test_a_refusal_has_its_reason_and_is_asked_again_later(text: str, reason: str) -> None:
    wanted = begun()
    (told,) = said(wanted, text, S)
    assert (told["what"], told["detail"]) == ("refused", reason)
    assert list(wanted.due(60 * S)) == []
    assert [ask.request_id for ask in wanted.due(61 * S)] == ["r-2"]


def test_a_request_without_an_answer_is_told() -> None:
    wanted = begun()
    assert list(wanted.unanswered(9 * S)) == []
    (told,) = wanted.unanswered(10 * S)
    assert (told["what"], told["detail"]) == ("silent", "no answer to 35=V in 10 s")
    assert list(wanted.unanswered(11 * S)) == []


def test_the_end_of_the_session_is_told_for_each_symbol_and_a_logon_asks_anew() -> None:
    wanted = begun(RULES, "AAPL", "MSFT")
    said(wanted, SNAPSHOT)
    assert [one["what"] for one in wanted.logged_off("gone")] == ["down", "down"]
    assert list(wanted.due(S)) == []
    wanted.logged_on(2 * S)
    assert [ask.request_id for ask in wanted.due(2 * S)] == ["r-3", "r-4"]
    assert said(wanted, SNAPSHOT, 2 * S) == [], "of the earlier logon"


def test_lost_messages_put_every_book_in_doubt() -> None:
    wanted = begun(RULES, "AAPL", "MSFT")
    said(wanted, SNAPSHOT)
    assert [one["what"] for one in wanted.lost("gap", S)] == ["incomplete", "incomplete"]


def test_requests_keep_the_brokers_rate() -> None:
    rules = RULES.model_copy(update={"requests_per_s": 2})
    wanted = Subscriptions(rules, ("A", "B", "C"), prefix="r", before_44=True)
    wanted.logged_on(0)
    assert [len(list(wanted.due(at))) for at in (0, S - 1, S, 2 * S)] == [2, 0, 1, 0]


def test_a_garbled_message_is_told_and_not_raised() -> None:
    wanted = begun()
    said(wanted, SNAPSHOT)
    (told,) = said(wanted, "35=X|262=r-1|268=1|279=1|269=0|55=AAPL|270=1e5")
    assert told["what"] == "incomplete"
    assert "MDEntryPx '1e5' is no price" in str(told["detail"])
    assert list(wanted.received("nonsense", 0)) == []


def test_an_entrys_own_time_counts_where_the_profile_says_so() -> None:
    wanted = begun(RULES.model_copy(update={"event_time": EventTime.ENTRY}))
    said(wanted, SNAPSHOT)
    change = "35=X|262=r-1|268=1|279=0|269=0|278=b|55=AAPL|270=100.2|273=09:59:59.100"
    assert [one["event_us"] for one in said(wanted, change)] == [SENT_US - 1_150_000]
    night = "35=X|262=r-1|268=1|279=1|269=0|278=b|55=AAPL|270=100.2|273=23:59:59"
    assert int(str(said(wanted, night)[0]["event_us"])) < SENT_US, "of the day before"


def test_a_resent_message_has_the_time_when_it_was_first_sent() -> None:
    answer = read_answer(message(f"{SNAPSHOT}|43=Y|122=20261123-09:00:00"))
    assert isinstance(answer, BookMessage)
    assert answer.sent_us == SENT_US - 3600 * S - 250_000


@pytest.mark.parametrize("text", ["35=X|268=1|279=7|269=0|55=A", "35=W|268=1|269=0|270=abc|55=A"])
def test_what_lacks_its_fields_is_refused(text: str) -> None:
    with pytest.raises(ReportError):
        read_answer(message(text))


@pytest.mark.parametrize("version", list(Version))
def test_the_shipped_dictionaries_keep_groups_in_order(version: Version) -> None:
    speech = SPEECH[version]
    words = [str(DICTIONARIES / speech.transport)] if speech.transport else []
    kept = [quickfix.DataDictionary(one) for one in [*words, str(DICTIONARIES / speech.market)]]
    asked = request("q", "AAPL", Updates.INCREMENTAL, before_44=version is Version.FIX_42)
    changes = "35=X|262=q|268=2|279=0|269=0|278=b|55=AAPL|270=1.5|271=2|279=2|269=1|278=a|55=MSFT"
    snapshot = "35=W|262=q|55=AAPL|268=2|269=0|270=1.5|271=2|278=b|269=1|270=1.7|271=9|278=a"
    for raw in (
        wire_text(asked, begin_string=speech.begin_string),
        message(changes, speech.begin_string),
        message(snapshot, speech.begin_string),
    ):
        written = quickfix.Message(raw, *kept, False).toString()  # noqa: FBT003
        if dict(parse(raw))[35] == "V":
            assert [pair for pair in parse(written) if pair[0] in GROUPED] == grouped(asked)
        else:
            assert read_answer(written) == read_answer(raw)


def grouped(asked: Fields) -> list[tuple[int, str]]:
    """The fields of both groups, in the engine's order: by the tag that counts each."""
    symbols = [pair for pair in asked if pair[0] in {146, 55}]
    return symbols + [pair for pair in asked if pair[0] in {267, 269}]


def test_a_profile_names_its_market_data_session() -> None:
    profile = parse_profile_text(plain() + TABLE)
    session = profile.market_session
    assert (session.sender_comp_id, session.port, session.mode) == ("DESK-MD", 9999, "reset")
    assert session.host == profile.host
    assert session.dictionary == "FIX44-market.xml"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (TABLE + 'session = "order_session"\n', "market_data.session: market data over the order"),
        (TABLE + 'symbols = {A = "X", B = "X"}\n', "the same symbol at the broker"),
        (
            TABLE.replace("DESK-MD", "COUNTERSIGN")
            .replace("BROKER-MD", "BROKER")
            .replace("9999", "9878"),
            "the order session's CompIDs",
        ),
        (TABLE + 'updates = "sometimes"\n', "market_data.updates"),
    ],
)
def test_a_profile_that_asks_for_what_is_not_there_is_refused(table: str, said: str) -> None:
    with pytest.raises(ProfileError) as refused:
        parse_profile_text(plain() + table)
    assert said in str(refused.value)
    assert "line " in str(refused.value)


def test_a_profile_without_market_data_is_recorded_as_before() -> None:
    assert "market_data" not in str(profile_record(simulator_profile(1))["document"])
    with pytest.raises(ProfileError):
        _ = simulator_profile(1).market_session


def test_an_own_dictionary_is_found_beside_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(plain() + TABLE + 'dictionary = "own.xml"\n')
    with pytest.raises(ProfileError, match=r"market_data.dictionary: there is no file"):
        read_profile(path)
    (tmp_path / "own.xml").write_text("<fix/>")
    found: Profile = read_profile(path)
    assert found.market_session.dictionary == str(tmp_path / "own.xml")


def plain() -> str:
    return (SHIPPED / "plain-4.4.toml").read_text()
