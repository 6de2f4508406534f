"""The verbs about differences: what is open is printed, and what changes a book is signed."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gateway.desk.bodies.booking import ResolveRequest
from gateway.desk.controls.statements import all_signed
from gateway.desk.officers.resolution import resolution_statement
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.local.client import DoorAnswer
from gateway.installation.settings import Settings
from gateway.launch.commands import differences as differing
from gateway.launch.commands.differences import list_differences, request_of, resolve_difference

OPEN = {
    "seq": 7,
    "leaf": "ab" * 32,
    "reason": "CUM_QTY",
    "account": "run-1.agent",
    "instrument": "SPXN",
    "cl_ord_id": "NAME",
    "book_lots": 1,
    "broker_lots": 2,
}


class Gateway:
    """A running gateway, as far as these verbs ask it."""

    def __init__(self, keyring: Keyring) -> None:
        self.keyring = keyring
        self.open: list[dict[str, Any]] = [dict(OPEN)]
        self.status = 200
        self.posted: list[tuple[str, dict[str, Any], str]] = []

    def get(self, _state: object, path: str, token: str, timeout_s: float) -> DoorAnswer:
        assert (path, token) == ("/v1/differences", self.keyring.token("operator"))
        assert timeout_s > 0
        return DoorAnswer(
            status=self.status, document=self._said({"log_id": "log", "open": self.open})
        )

    def post(
        self, _state: object, path: str, content: str, token: str, timeout_s: float
    ) -> DoorAnswer:
        assert timeout_s > 0
        self.posted.append((path, json.loads(content), token))
        return DoorAnswer(status=self.status, document=self._said({}))

    def _said(self, document: dict[str, Any]) -> dict[str, Any]:
        return document if self.status < 400 else {"message": "not now"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state=tmp_path)


@pytest.fixture
def gateway(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    made = Gateway(Keyring.create(settings.keys or tmp_path / "keys"))
    monkeypatch.setattr(differing, "get", made.get)
    monkeypatch.setattr(differing, "post", made.post)
    return made


def asked(right: str, **more: str) -> ResolveRequest:
    return request_of({"right": right, "reason": "looked", "evidence": "a call", **more})


def test_what_is_open_is_listed_and_is_no_success(
    settings: Settings, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list_differences(settings) == 1
    line = capsys.readouterr().out
    assert line.split() == [
        *("7", "CUM_QTY", "SPXN", "run-1.agent", "NAME:", "book", "1,", "broker", "2")
    ]
    gateway.open[0] |= {"instrument": "", "account": "", "cl_ord_id": ""}
    list_differences(settings)
    assert "- - -:" in capsys.readouterr().out
    gateway.open = []
    assert list_differences(settings) == 0
    assert capsys.readouterr().out == "the book agrees with the broker's reports\n"


def test_that_the_book_is_right_needs_no_signature(
    settings: Settings, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    assert resolve_difference(settings, 7, asked("book"), {}) == 0
    ((path, body, token),) = gateway.posted
    assert (path, token) == ("/v1/differences/7/resolve", gateway.keyring.token("operator"))
    assert (body["right"], body["reason"], body["signatures"]) == ("book", "looked", {})
    assert "difference 7 is resolved: the book is right" in capsys.readouterr().out


@pytest.mark.parametrize(
    "request_", [asked("broker", price="268.11"), asked("book", ends="ABCDEFGHIJ234567ABCD")]
)
@pytest.mark.parametrize("own_files", [False, True])
def test_what_changes_a_book_or_ends_an_order_is_signed_by_both_over_this_difference(
    settings: Settings,
    gateway: Gateway,
    tmp_path: Path,
    request_: ResolveRequest,
    *,
    own_files: bool,
) -> None:
    files: dict[str, Path | None] = {}
    public = gateway.keyring.public_keys()
    if own_files:
        for role in SIGNING_ROLES:
            key = Ed25519PrivateKey.generate()
            files[role] = tmp_path / f"{role}.given"
            (tmp_path / f"{role}.given").write_text(key.private_bytes_raw().hex())
            public = {**public, role: key.public_key().public_bytes_raw()}
    resolve_difference(settings, 7, request_, files)
    ((_, body, _),) = gateway.posted
    signed = resolution_statement("log", 7, OPEN["leaf"], request_)  # type: ignore[arg-type]
    assert all_signed(signed, body["signatures"], public)


@pytest.mark.parametrize(("given", "signed"), [({}, 1), ({"lots": 7}, 7), ({"lots": 0}, 0)])
def test_the_lots_that_are_signed_are_those_given_or_those_listed(
    settings: Settings,
    gateway: Gateway,
    capsys: pytest.CaptureFixture[str],
    given: dict[str, int],
    signed: int,
) -> None:
    gateway.open[0] |= {"lots": 1}
    word: dict[str, str | int] = {"right": "broker", "reason": "looked", "evidence": "a call"}
    resolve_difference(settings, 7, request_of({**word, **given}), {})
    ((_, body, _),) = gateway.posted
    assert body["lots"] == signed
    assert f"adjusted by {signed} lots" in capsys.readouterr().out


def test_sides_that_agree_by_now_are_said_to(
    settings: Settings, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    list_differences(settings)
    assert "agree by now" not in capsys.readouterr().out
    gateway.open[0] |= {"book_lots": 2, "lots": 0}
    assert list_differences(settings) == 1
    assert "book 2, broker 2; they agree by now" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"odd_units": 50, "broker_lots": 1}, "book 1, broker 1 and 50 units: no whole lots"),
        ({"reason": "FEE_OPEN", "lots": 0}, "a fee is missing"),
        ({"reason": "PRICE_BEYOND_LIMIT", "lots": 0}, "booked beyond the limit"),
        ({"reason": "OVERFILLED", "lots": 0}, "booked beyond the order"),
    ],
)
def test_what_no_equal_lots_settle_is_not_said_to_agree(
    settings: Settings,
    gateway: Gateway,
    capsys: pytest.CaptureFixture[str],
    more: dict[str, object],
    said: str,
) -> None:
    gateway.open[0] |= more
    list_differences(settings)
    line = capsys.readouterr().out
    assert said in line
    assert "agree" not in line


def test_units_that_stay_unbooked_are_signed_by_both(settings: Settings, gateway: Gateway) -> None:
    gateway.open[0] |= {"odd_units": 50}
    resolve_difference(settings, 7, asked("book"), {})
    ((_, body, _),) = gateway.posted
    assert set(body["signatures"]) == {str(role) for role in SIGNING_ROLES}


def test_nothing_is_said_of_what_is_not_open(settings: Settings, gateway: Gateway) -> None:
    with pytest.raises(RequestError, match="no difference 8 is open"):
        resolve_difference(settings, 8, asked("book"), {})
    assert gateway.posted == []


def test_what_the_gateway_refuses_is_said(settings: Settings, gateway: Gateway) -> None:
    gateway.status = 409
    with pytest.raises(RequestError, match="not now"):
        list_differences(settings)


def test_a_refused_resolution_is_no_success(
    settings: Settings, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = gateway.post

    def refuses(*given: Any) -> DoorAnswer:  # noqa: ANN401 - as `post`
        heard(*given)
        return DoorAnswer(status=403, document={"message": "both must sign"})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differing, "post", refuses)
        with pytest.raises(RequestError, match="both must sign"):
            resolve_difference(settings, 7, asked("book"), {})
    assert "resolved" not in capsys.readouterr().out


def test_an_option_that_is_not_as_it_must_be_is_named() -> None:
    with pytest.raises(RequestError, match="--right"):
        asked("nobody")
    with pytest.raises(RequestError, match="--price"):
        asked("broker", price="a lot")
