"""The API over a desk in memory: who may, what a caller is told, and what goes on record of it."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from fastapi import FastAPI
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient

from audit.errors import AuditError, LedgerTimeoutError
from audit.privacy.erasure import Privacy
from audit.records.kinds import Kind
from audit.tlog.tiles import Tile
from gateway.desk.bodies.requests import IntentResponse
from gateway.errors import GatewayError
from gateway.installation.keys.roles import Role
from gateway.surfaces.api.app import FIELD_CHARS_MAX, STATUS, build_api
from gateway.surfaces.api.log import FOR_EVER
from gateway.surfaces.limits import BODY_BYTES_MAX
from tests.doubles.busy_threads import busy
from tests.doubles.memory_desk import MemoryDesk

INTENT = {"client_key": "k-1", "instrument": "SPXN", "target_exposure_bp": 2_000}


@pytest.fixture
def app(desk: MemoryDesk) -> FastAPI:
    return build_api(desk.small.desk, desk.small.keyring)


Call = Callable[..., tuple[int, Any]]


@pytest.fixture
def call(app: FastAPI, desk: MemoryDesk) -> Call:
    """Ask with somebody's key; an empty name has none."""
    browser = TestClient(app, base_url="http://127.0.0.1:8700", raise_server_exceptions=False)

    def asked(name: str, method: str, path: str, **body: object) -> tuple[int, Any]:
        key = {"Authorization": f"Bearer {desk.small.keyring.token(name)}"} if name else {}
        answer = browser.request(method, path, json=body or None, headers=key)
        return answer.status_code, answer.json()

    return asked


def test_a_read_of_a_decision_is_on_record_with_who_read(call: Call, desk: MemoryDesk) -> None:
    decision_id = desk.ask().decision_id
    status, said = call("auditor", "GET", f"/v1/decisions/{decision_id}")
    assert status == 200
    own = [k.value for k in desk.kinds(decision_id)]
    assert [one["kind"] for one in said["records"] if one["kind"] in own] == own
    (read,) = desk.log.of_kind(Kind.READ_RECORDED)
    assert (read.body["reader"], read.body["role"], read.body["object"]) == (
        "auditor",
        "auditor",
        f"decision/{decision_id}",
    )


def test_what_is_not_there_is_told_and_not_on_record(call: Call, desk: MemoryDesk) -> None:
    assert call("auditor", "GET", "/v1/decisions/nobody")[0] == 404
    assert not desk.log.of_kind(Kind.READ_RECORDED)


def test_an_agents_intent_is_its_own(call: Call, desk: MemoryDesk) -> None:
    assert call("auditor", "POST", "/v1/intents", **INTENT)[0] == 403
    assert call("approver", "POST", "/v1/intents", **INTENT)[0] == 403
    assert not desk.log.of_kind(Kind.INTENT_RECEIVED)
    status, said = call("agent", "POST", "/v1/intents", **INTENT)
    assert status == 200
    (received,) = desk.log.of_kind(Kind.INTENT_RECEIVED)
    assert received.body["author"] == "agent"
    assert received.body["decision_id"] == said["decision_id"]


def test_an_answer_has_the_bytes_that_fastapi_would_write(app: FastAPI, desk: MemoryDesk) -> None:
    key = {"Authorization": f"Bearer {desk.small.keyring.token('agent')}"}
    browser = TestClient(app, base_url="http://127.0.0.1:8700")
    answer = browser.post("/v1/intents", json=INTENT, headers=key)
    model = IntentResponse.model_validate_json(answer.content)
    assert answer.content == JSONResponse(jsonable_encoder(model)).body
    assert answer.headers["content-type"] == "application/json"


def test_a_hold_is_answered_by_an_approver_in_his_own_name(call: Call, desk: MemoryDesk) -> None:
    decision_id = desk.hold()
    digest = str(desk.verdict(decision_id).body["intent_digest"])
    answer = {"approve": False, "intent_digest": digest, "note": "too much"}
    path = f"/v1/decisions/{decision_id}/approval"
    for name in ("agent", "operator", "auditor"):
        assert call(name, "POST", path, **answer)[0] == 403
    assert call("approver", "POST", path, **{**answer, "intent_digest": "0" * 64})[0] == 409
    assert call("approver", "POST", path, **answer) == (
        200,
        {"decision_id": decision_id, "result": "refused"},
    )
    (refused,) = desk.log.of_kind(Kind.APPROVAL_REFUSED)
    assert (refused.body["approver"], refused.body["reason"]) == ("approver", "too much")


def test_a_kill_is_told_to_who_presses_and_to_who_asks(call: Call, desk: MemoryDesk) -> None:
    status, ready = call("", "GET", "/readyz")
    tags = desk.small.tags
    assert (status, ready["mode"], ready["account"]) == (200, tags.mode, tags.account)
    for name, status in (("", 401), ("agent", 403), ("auditor", 403)):
        assert call(name, "POST", "/v1/kill", reason="x")[0] == status
    assert call("", "GET", "/readyz")[0] == 200
    status, receipt = call("approver", "POST", "/v1/kill", reason="smoke")
    assert (status, receipt["kill_epoch"], receipt["recorded"]) == (200, 1, True)
    (pressed,) = desk.log.of_kind(Kind.KILL_PRESSED)
    assert (pressed.body["reason"], pressed.body["actor_name"]) == ("smoke", "approver")
    status, said = call("", "GET", "/readyz")
    assert (status, said["ready"]) == (503, False)
    assert said["parts"]["kill"] == "in force, epoch 1"
    assert call("agent", "GET", "/v1/kill")[1]["killed"] is True
    assert [r.body["object"] for r in desk.log.of_kind(Kind.READ_RECORDED)] == ["kill"]


def test_a_release_is_asked_for_by_who_may_and_needs_both_signatures(
    call: Call, desk: MemoryDesk
) -> None:
    call("operator", "POST", "/v1/kill", reason="smoke")
    signed = call("operator", "GET", "/v1/kill")[1]["to_sign"].encode()
    keys = {role: desk.small.keyring.signing_key(role) for role in ("risk", "compliance")}
    signatures = {role: key.sign(signed).hex() for role, key in keys.items()}
    body = {"kill_epoch": 1, "signatures": signatures, "reason": "looked at"}
    alone = {**body, "signatures": {"risk": signatures["risk"]}}
    crossed = {"risk": signatures["compliance"], "compliance": signatures["risk"]}
    for wrong in (alone, {**body, "signatures": crossed}, {**body, "kill_epoch": 2}):
        assert call("operator", "POST", "/v1/kill/release", **wrong)[0] == 403
    for name in ("agent", "auditor"):
        assert call(name, "POST", "/v1/kill/release", **body)[0] == 403
    assert not desk.log.of_kind(Kind.KILL_RELEASED)
    assert call("operator", "POST", "/v1/kill/release", **body)[0] == 200
    (released,) = desk.log.of_kind(Kind.KILL_RELEASED)
    assert released.body["reason"] == "looked at"
    assert call("", "GET", "/readyz")[0] == 200
    assert call("operator", "POST", "/v1/kill/release", **body)[0] == 403, "once"


def test_differences_are_read_on_record_and_resolved_by_an_operator(
    call: Call, desk: MemoryDesk
) -> None:
    assert call("agent", "GET", "/v1/differences")[0] == 403
    assert call("auditor", "GET", "/v1/differences")[0] == 200
    assert [r.body["object"] for r in desk.log.of_kind(Kind.READ_RECORDED)] == ["differences"]
    word = {"right": "book", "reason": "counted", "evidence": "ticket 1"}
    for name in ("agent", "approver", "auditor"):
        assert call(name, "POST", "/v1/differences/7/resolve", **word)[0] == 403
    assert call("operator", "POST", "/v1/differences/7/resolve", **word)[0] == 409


def test_adjustments_are_an_operators_and_need_both_officers(call: Call, desk: MemoryDesk) -> None:
    assert call("agent", "GET", "/v1/adjustments")[0] == 403
    status, listed = call("auditor", "GET", "/v1/adjustments")
    assert (status, "cash_minor" in str(listed)) == (200, True)
    word = {"ref": "f", "sort": "fee", "account": "x", "amount": "1.00"}
    word |= {"reason": "notice", "evidence": "7"}
    for name in ("agent", "approver", "auditor"):
        assert call(name, "POST", "/v1/adjustments", **word)[0] == 403
    status, said = call("operator", "POST", "/v1/adjustments", **word)
    assert (status, "must sign" in str(said)) == (409, True)
    assert desk.log.of_kind(Kind.BOOK_ADJUSTED) == []


@dataclass
class KeptAsks:
    """A privacy that does nothing and keeps who asked for what."""

    asks: list[tuple[object, ...]] = field(default_factory=list)

    def hold(self, scope: str, *, reason: str, actor: str) -> list[Any]:
        self.asks.append(("hold", scope, reason, actor))
        raise LedgerTimeoutError("no answer", written=False)

    def lift(self, hold_id: str, *, reason: str, actor: str) -> None:
        self.asks.append(("release-hold", hold_id, reason, actor))
        raise LedgerTimeoutError("no answer", written=False)

    def erase(self, *persons: str, basis: str, actor: str) -> None:
        self.asks.append(("erase", persons, basis, actor))
        raise LedgerTimeoutError("no answer", written=False)

    def disclose(self, seq: int, *, reader: str, reason: str) -> None:
        self.asks.append(("disclose", seq, reason, reader))
        raise LedgerTimeoutError("no answer", written=False)


@pytest.mark.parametrize(
    ("verb", "body", "may", "asked"),
    [
        ("erase", {"subject": "p", "basis": "b"}, {"operator"}, (("p",), "b")),
        ("erase", {"subject": ["p", "q"], "basis": "b"}, {"operator"}, (("p", "q"), "b")),
        ("hold", {"scope": "all", "reason": "r"}, {"operator", "approver"}, ("all", "r")),
        ("release-hold", {"hold_id": "h", "reason": "r"}, {"operator", "approver"}, ("h", "r")),
        ("disclose", {"seq": 3, "reason": "r"}, {"auditor"}, (3, "r")),
    ],
)
def test_a_privacy_verb_is_for_its_roles_and_names_who_asked(
    app: FastAPI,
    call: Call,
    verb: str,
    body: dict[str, Any],
    may: set[str],
    asked: tuple[object, ...],
) -> None:
    kept = KeptAsks()
    app.state.privacy = cast("Privacy", kept)
    for role in Role:
        status, _ = call(role.value, "POST", f"/v1/privacy/{verb}", **body)
        assert status == (503 if role.value in may else 403), role
    assert kept.asks == [(verb, *asked, name) for name in ("operator", "approver", "auditor")
                         if name in may]  # fmt: skip


def test_refusals_at_the_api_are_counted_by_name_and_reason(
    app: FastAPI, call: Call, desk: MemoryDesk
) -> None:
    call("", "GET", "/v1/kill")
    call("agent", "POST", "/v1/kill", reason="x")
    browser = TestClient(app)
    browser.get("/v1/kill", headers={"Authorization": "Bearer cs_nobody"})
    app.state.refusals.flush()
    counted = {(r.body["who"], r.body["reason"]) for r in desk.log.of_kind(Kind.ACCESS_REFUSED)}
    stranger = app.state.refusals.pseudonym("cs_nobody")
    assert counted == {("none", "no_key"), ("agent", "may_not_kill"), (stranger, "unknown_key")}
    answer = browser.get("/v1/kill")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("size", "status"), [(BODY_BYTES_MAX, 422), (BODY_BYTES_MAX + 1, 413)])
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_is_as_large_as_the_limit_and_no_larger(
    app: FastAPI,
    desk: MemoryDesk,
    size: int,
    status: int,
    announced: bool,  # noqa: FBT001
) -> None:
    body = json.dumps({"reason": "x"}).encode().ljust(size)
    body = body[:-1] + b"x"
    parts = body if announced else iter([body[: size // 2], body[size // 2 :]])
    key = {"Authorization": f"Bearer {desk.small.keyring.token('operator')}"}
    headers = {**key, "Content-Type": "application/json"}
    answer = TestClient(app).post("/v1/kill", content=parts, headers=headers)
    assert answer.status_code == status
    assert not desk.log.of_kind(Kind.KILL_PRESSED)


def test_an_announced_length_is_believed_before_a_byte_is_read(
    app: FastAPI, desk: MemoryDesk
) -> None:
    key = {"Authorization": f"Bearer {desk.small.keyring.token('operator')}"}
    headers = {**key, "Content-Type": "application/json"}
    answer = TestClient(app).post(
        "/v1/kill", content=b"{}", headers={**headers, "Content-Length": str(BODY_BYTES_MAX + 1)}
    )
    assert answer.status_code == 413


def test_a_key_that_stands_twice_in_a_body_is_refused(app: FastAPI, desk: MemoryDesk) -> None:
    key = {"Authorization": f"Bearer {desk.small.keyring.token('operator')}"}
    headers = {**key, "Content-Type": "application/json"}
    twice = b'{"reason": "one", "reason": "two"}'
    answer = TestClient(app).post("/v1/kill", content=twice, headers=headers)
    assert answer.status_code == 422
    assert "a key occurs twice" in answer.text
    assert not desk.log.of_kind(Kind.KILL_PRESSED)


def test_what_is_malformed_is_named_shortly_and_not_repeated(call: Call) -> None:
    name = "ü" * 200
    status, said = call("agent", "POST", "/v1/intents", **INTENT, **{name: "a secret of mine"})
    assert status == 422
    assert "a secret of mine" not in json.dumps(said)
    (fault,) = said["faults"]
    assert fault["field"].isascii()
    assert len(fault["field"]) <= FIELD_CHARS_MAX


def test_every_error_that_is_told_with_a_status_has_its_code() -> None:
    def below(one: type[Exception]) -> set[str]:
        return {getattr(one, "code", "")}.union(*(below(sub) for sub in one.__subclasses__()))

    assert set(STATUS) <= below(GatewayError) | below(AuditError)


def test_a_kill_goes_through_while_every_other_thread_is_taken(
    app: FastAPI, desk: MemoryDesk
) -> None:
    key = {"Authorization": f"Bearer {desk.small.keyring.token('operator')}"}
    with busy(app) as browser:
        answer = browser.post("/v1/kill", json={"reason": "x"}, headers=key)
    assert answer.json()["kill_epoch"] == 1


@dataclass
class FewFiles:
    """A log of one tile and one bundle."""

    public: bool = False
    empty: bool = False

    def shown(self) -> tuple[None, bytes] | None:
        """Return a checkpoint."""
        return None if self.empty else (None, b"a note\n")

    def resource(self, path: str) -> tuple[Tile, bytes] | None:
        """Return one of two files."""
        found = {
            "tile/0/000": Tile(level=0, index=0, width=256),
            "tile/entries/000": Tile(level=None, index=0, width=256),
        }.get(path)
        return None if found is None else (found, b"bytes")


def put_log(app: FastAPI, files: FewFiles | None) -> None:
    app.state.log = files


LOG = ("/log/checkpoint", "/log/tile/0/000", "/log/tile/entries/000")


def test_the_log_is_for_auditors_and_its_reading_on_record_once(
    call: Call, app: FastAPI, desk: MemoryDesk
) -> None:
    put_log(app, FewFiles())
    key = {"Authorization": f"Bearer {desk.small.keyring.token('auditor')}"}
    for path in LOG:
        assert call("", "GET", path)[0] == 401
        for name in ("agent", "operator", "approver"):
            assert call(name, "GET", path)[0] == 403
    assert not desk.log.of_kind(Kind.READ_RECORDED)
    for path in LOG:
        answer = TestClient(app).get(path, headers=key)
        assert answer.status_code == 200
        assert "public" not in answer.headers["cache-control"]
    said = {(r.body["reader"], r.body["object"]) for r in desk.log.of_kind(Kind.READ_RECORDED)}
    assert said == {("auditor", "log")}
    assert len(desk.log.of_kind(Kind.READ_RECORDED)) <= 2, "the hour may have changed"


def test_a_log_that_is_public_is_read_by_anybody_and_by_nobody_on_record(
    app: FastAPI, desk: MemoryDesk
) -> None:
    put_log(app, FewFiles(public=True))
    answers = [TestClient(app).get(path) for path in LOG]
    assert [one.status_code for one in answers] == [200] * 3
    assert answers[0].headers["cache-control"] == "no-cache"
    assert answers[1].headers["cache-control"] == f"public, {FOR_EVER}"
    assert not desk.log.of_kind(Kind.READ_RECORDED)


def test_what_the_log_has_not_is_not_there(call: Call, app: FastAPI) -> None:
    for files in (None, FewFiles(empty=True)):
        put_log(app, files)
        for path in ("/log/checkpoint", "/log/tile/0/001"):
            assert call("auditor", "GET", path)[0] == 404


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("identity", False),
        ("", False),
        ("x-gzip", False),
    ],
)
def test_a_bundle_is_packed_for_who_takes_it_and_a_tile_never(
    app: FastAPI,
    accepted: str,
    packed: bool,  # noqa: FBT001
) -> None:
    put_log(app, FewFiles(public=True))
    browser, asks = TestClient(app), {"Accept-Encoding": accepted}
    bundle = browser.get("/log/tile/entries/000", headers=asks)
    assert (bundle.headers.get("content-encoding") == "gzip") is packed
    assert int(bundle.headers["content-length"]) == (
        len(gzip.compress(b"bytes", 6, mtime=0)) if packed else len(b"bytes")
    )
    assert bundle.content == b"bytes"
    assert bundle.headers["vary"] == "Accept-Encoding"
    tile = browser.get("/log/tile/0/000", headers=asks)
    assert "content-encoding" not in tile.headers
    assert tile.headers["x-content-type-options"] == "nosniff"
