"""GET /v1/events: own decisions only, nothing missed over a reconnect, bounded."""

import json
from contextlib import ExitStack
from typing import Any, cast

import anyio
import pytest
from fastapi.testclient import TestClient
from typing_extensions import override

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.agents.happenings import HAPPENING_KINDS, happening
from gateway.desk.bodies.order_requests import ReplaceRequest
from gateway.desk.intake.intents import author_in
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import KeyScope
from gateway.surfaces.api.app import build_api
from gateway.surfaces.following import (
    CALLER_MAX,
    FIRST_MAX,
    KEPT_MAX,
    TOTAL_MAX,
    EventStream,
    Following,
    TooManyError,
)
from risk.intent import Side
from tests.doubles.memory_desk import AGENT, MemoryDesk

EVENTS = "/v1/events"
SCOPE = KeyScope(
    instruments=("SPXN",),
    sides=(Side.BUY,),
    order_notional_max_minor=1,
    day_notional_max_minor=1,
    intents_per_minute=1,
    expires_us=1 << 52,
    account="one",
)


def follow(desk: MemoryDesk, name: str, *, last: int | None = 0) -> list[dict[str, Any]]:
    """Return the events behind a record that are there now."""
    api = TestClient(build_api(desk.small.desk, desk.small.keyring))
    headers = {"Authorization": f"Bearer {desk.small.keyring.token(name)}"}
    headers |= {} if last is None else {"Last-Event-ID": str(last)}
    answer = api.get(EVENTS, params={"wait_s": 0}, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return events_in(answer.text)


def events_in(text: str) -> list[dict[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in block.splitlines() if not line.startswith(":")
        )
        if "data" in fields:
            data = json.loads(fields["data"])
            assert (fields["id"], fields["event"]) == (str(data["seq"]), data["event"])
            found.append(data)
    return found


def test_an_agent_sees_what_happens_to_its_order_and_nothing_of_others(desk: MemoryDesk) -> None:
    mine = desk.rest(40)
    desk.approved("of-somebody-else")
    desk.settled(desk.report(mine))
    desk.settled(desk.report(desk.standing(mine.decision_id), t39="4", t150="4", t32="0", t151="0"))
    own = follow(desk, "agent")
    assert [one["event"] for one in own] == ["approved", "sent", "partial", "canceled"]
    assert {one["decision_id"] for one in own} == {mine.decision_id}
    assert own[2]["last_lots"] == 1
    assert follow(desk, "demo-agent") == []
    for name in ("operator", "auditor", "approver"):
        assert {one["decision_id"] for one in follow(desk, name)} == {
            mine.decision_id,
            "of-somebody-else",
        }


def test_a_reconnect_with_the_last_id_misses_nothing_and_repeats_nothing(desk: MemoryDesk) -> None:
    for _ in range(3):
        desk.rest()
    whole = follow(desk, "agent")
    assert len(whole) == 6
    for place, one in enumerate(whole):
        assert follow(desk, "agent", last=one["seq"]) == whole[place + 1 :]


def test_without_an_id_it_begins_now_and_beyond_the_log_it_is_refused(desk: MemoryDesk) -> None:
    desk.rest()
    assert follow(desk, "agent", last=None) == []
    api = TestClient(build_api(desk.small.desk, desk.small.keyring))
    key = {"Authorization": f"Bearer {desk.small.keyring.token('agent')}"}
    beyond = api.get(EVENTS, params={"after": desk.log.size}, headers=key)
    assert (beyond.status_code, beyond.json()["code"]) == (400, "request")
    for bad in ("-1", "x", "9" * 40):
        assert api.get(EVENTS, headers=key | {"Last-Event-ID": bad}).status_code == 422


def test_who_follows_is_on_record_before_anything_is_told(desk: MemoryDesk) -> None:
    follow(desk, "auditor")
    read = desk.log.of_kind(Kind.READ_RECORDED)
    assert [(r.body["reader"], r.body["object"]) for r in read] == [("auditor", "events")]


def test_every_record_that_is_told_has_an_event(desk: MemoryDesk) -> None:
    desk.rest()
    held = desk.hold()
    desk.answer(held, approve=False)
    told = {r.kind for r in desk.log.records() if happening(r) is not None}
    assert told <= set(HAPPENING_KINDS)
    assert {Kind.VERDICT_GIVEN, Kind.APPROVAL_REFUSED, Kind.ORDER_SENT} <= told


def test_a_replace_is_told_from_the_request_to_its_end(desk: MemoryDesk) -> None:
    order = desk.rest(50)
    quiet = {"t150": "0", "t39": "0", "t32": "0", "t31": "0", "t14": "0", "t151": "50"}
    desk.settled(desk.report(order, **quiet))
    request = ReplaceRequest(client_key="r-1", reason="tested", qty_lots=9)
    done = desk.small.desk.order_desk.replace(AGENT, order.cl_ord_id, request)
    name = done.replace.replace_id
    again = {"t150": "5", "t11": name, "t41": order.cl_ord_id, "t38": "9", "t151": "9"}
    desk.settled(desk.report(order, **(quiet | again)))
    told = [one for r in desk.log.records() if (one := happening(r)) is not None]
    replacing = [one for one in told if one.event.startswith("replace_")]
    assert [one.event.removeprefix("replace_") for one in replacing] == [
        "requested",
        "sent",
        "ended",
    ]
    assert {one.details["replace_id"] for one in replacing} == {name}
    assert {author_in(one.decision_id) for one in replacing} == {"agent"}
    assert (replacing[0].details["qty_lots"], replacing[-1].details["outcome"]) == (9, "replaced")


@pytest.mark.parametrize(
    ("changes", "event"),
    [
        ({"t150": "H", "t14": "0"}, "trade_busted"),
        ({"t150": "G", "t32": "2", "t14": "2"}, "trade_corrected"),
    ],
)
def test_a_trade_that_is_taken_back_or_corrected_is_told_as_that(
    desk: MemoryDesk, changes: dict[str, str], event: str
) -> None:
    order = desk.rest(40)
    desk.settled(desk.report(order, t17="T1", t32="3", t14="3"))
    now = desk.standing(order.decision_id)
    desk.settled(desk.report(now, t17="T2", t19="T1", **changes))
    assert [one["event"] for one in follow(desk, "agent")][-2:] == ["partial", event]


def test_places_are_bounded_for_each_caller_and_in_all(desk: MemoryDesk) -> None:
    following = Following(lambda: cast("LedgerReader", desk.log))
    with ExitStack() as places:
        for number in range(TOTAL_MAX):
            places.enter_context(following.place(f"caller-{number // CALLER_MAX}"))
        for number in range(FIRST_MAX):  # repro sec_starve: they keep nobody else out
            places.enter_context(following.place(f"other-{number}"))
        for caller in ("caller-0", "other-0", "new"):
            with pytest.raises(TooManyError):
                places.enter_context(following.place(caller))
        for number in range(KEPT_MAX):
            places.enter_context(following.place(f"person-{number}", person=True))
        with pytest.raises(TooManyError):
            places.enter_context(following.place("one-more", person=True))
    assert following.followers == 0


def test_a_follower_is_told_while_it_waits_until_the_server_closes(desk: MemoryDesk) -> None:
    async def run() -> list[bytes]:
        following = Following(lambda: cast("LedgerReader", desk.log))
        found: list[bytes] = []
        told = following.events(
            desk.log.size - 1,
            HAPPENING_KINDS,
            lambda record: one.document() if (one := happening(record)) else None,
            wait_s=60,
            welcome=lambda: True,
        )
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                async for text in told:
                    found.append(text)
                    following.close()

            group.start_soon(listen)
            await anyio.to_thread.run_sync(desk.rest)
        return found

    (first, *_) = anyio.run(run)
    assert b"event: approved\n" in first


def test_a_slow_reader_is_dropped_and_its_place_is_free(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.surfaces.following.SLOW_S", 0.01)
    following = Following(lambda: cast("LedgerReader", desk.log))

    async def run() -> None:
        async def endless() -> Any:  # noqa: ANN401 - an async generator
            while True:
                yield b": \n\n"

        async def takes_nothing(_: object) -> None:
            await anyio.sleep_forever()

        place = ExitStack()
        place.enter_context(following.place("slow"))
        with anyio.fail_after(10):
            await EventStream(endless(), place)(
                {"type": "http"}, anyio.sleep_forever, takes_nothing
            )

    anyio.run(run)
    assert following.followers == 0


def test_a_stream_ends_when_its_key_ends(desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.surfaces.following.ALIVE_S", 0.0)

    async def run() -> list[bytes]:
        following = Following(lambda: cast("LedgerReader", desk.log))
        told = following.events(0, (), lambda _: None, wait_s=60, welcome=lambda: False)
        with anyio.fail_after(10):
            return [text async for text in told]

    assert anyio.run(run) == []


@pytest.mark.parametrize(
    ("role", "scoped", "stays"),
    [
        (Role.OPERATOR, False, True),
        (Role.AGENT, False, False),
        (Role.AGENT, True, False),
        (None, False, False),
    ],
)
def test_a_follower_is_told_on_only_while_its_key_is_what_it_was(
    desk: MemoryDesk,
    monkeypatch: pytest.MonkeyPatch,
    role: Role | None,
    *,
    scoped: bool,
    stays: bool,
) -> None:
    """Whoever has the name with another role or scope may not be told what the first one saw."""
    monkeypatch.setattr("gateway.surfaces.following.ALIVE_S", 0.0)
    keyring, changes = desk.small.keyring, [True]

    class Changing(Following):
        """Followers of whom the first is let in before its key changes."""

        @override
        async def size(self) -> int:
            if changes and changes.pop():
                if role is None:
                    keyring.revoke("operator")
                else:
                    keyring.issue("operator", role, scope=SCOPE if scoped else None)
            return await super().size()

    api = build_api(desk.small.desk, keyring)
    api.state.following = Changing(lambda: cast("LedgerReader", desk.log))
    key = {"Authorization": f"Bearer {keyring.token('operator')}"}
    answer = TestClient(api).get(EVENTS, params={"wait_s": 0, "after": 0}, headers=key)
    assert answer.status_code == 200
    assert (": alive" in answer.text) is stays
