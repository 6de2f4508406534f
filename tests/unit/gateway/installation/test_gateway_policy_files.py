"""A policy from the draft to the one that `serve` takes: signed by two people, unchanged since."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.main import app
from gateway.clock import wall_us
from gateway.errors import RequestError, SettingsError
from gateway.installation.keys.keyring import Keyring
from gateway.installation.policies.policy import BUNDLE
from gateway.installation.policies.policy_files import DAY_US, read_policy, served_policy
from risk.policy.policy import policy_digest


class Office:
    """A folder in which two officers make and sign policies."""

    def __init__(self, home: Path) -> None:
        self.home, self.keys = home, home / "state" / "keys"
        self.draft, self.bundle = home / "policy.toml", home / "policy.bundle.json"
        for role in ("risk", "compliance"):
            assert self.key(role, "--role", role).exit_code == 0
        assert self.do("policy", "new", self.draft).exit_code == 0

    def do(self, *words: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words])

    def key(self, name: str, *more: str) -> Result:
        return self.do("officer-key", self.home / f"{name}.key", *more, *self.place)

    def sign(self, file: Path, name: str, *more: object) -> Result:
        key = self.home / f"{name}.key"
        return self.do("policy", "sign", file, "--key", key, *more, *self.place)

    def show(self, file: Path, *more: object) -> Result:
        return self.do("policy", "show", file, *more, *self.place)

    def publics(self, *names: str) -> list[object]:
        return [word for name in names for word in ("--public", self.home / f"{name}.pub")]

    @property
    def place(self) -> list[str]:
        return ["--state", str(self.home / "state")]

    def edit(self, file: Path, old: str, new: str) -> None:
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    def give(self) -> Keyring:
        """Give the gateway what it reads."""
        self.keys.mkdir(parents=True, exist_ok=True, mode=0o700)
        for role in ("risk", "compliance"):
            shutil.copy(self.home / f"{role}.pub", self.keys)
        shutil.copy(self.bundle, self.keys / BUNDLE)
        return Keyring(self.keys)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def refusal(result: Result) -> str:
    assert isinstance(result.exception, RequestError | SettingsError), result.output
    return str(result.exception)


def test_a_policy_signed_by_both_is_served(office: Office) -> None:
    first = office.sign(office.draft, "risk")
    assert "still needed: compliance" in first.output
    second = office.sign(office.bundle, "compliance", *office.publics("risk"))
    assert "both signed" in second.output, second.exception
    served = served_policy(office.give(), wall_us())
    assert policy_digest(served.policy) == policy_digest(read_policy(office.draft).policy)
    assert {(one.role, one.signer) for one in served.signatures} == {
        ("risk", "risk-officer"),
        ("compliance", "compliance-officer"),
    }
    shown = office.show(office.bundle)
    assert shown.output.count(": valid\n") == 2
    assert policy_digest(served.policy) in shown.output
    assert shown.exit_code == 0


def test_a_draft_is_valid_from_today_and_never_overwritten(office: Office) -> None:
    policy = read_policy(office.draft).policy
    assert policy.not_before_us <= wall_us() < policy.not_before_us + 2 * DAY_US
    assert policy.expires_us - policy.not_before_us == 365 * DAY_US
    assert "exists: choose another name" in refusal(office.do("policy", "new", office.draft))


def test_the_next_version_names_the_one_that_it_follows(office: Office) -> None:
    after = office.home / "next.toml"
    words = ("--from", office.draft, "--author", "head-quant", "--days", 30)
    assert office.do("policy", "new", after, *words).exit_code == 0
    old, new = read_policy(office.draft).policy, read_policy(after).policy
    assert (new.version, new.parent, new.author) == (2, policy_digest(old), "head-quant")
    assert new.expires_us - new.not_before_us == 30 * DAY_US


def test_one_officer_signs_once(office: Office) -> None:
    office.sign(office.draft, "risk")
    for file in (office.draft, office.bundle):
        assert "signed by risk:risk-officer already" in refusal(office.sign(file, "risk"))
    assert len(read_policy(office.bundle).signed.signatures) == 1


def test_one_key_in_two_roles_is_one_person(office: Office) -> None:
    office.sign(office.draft, "risk")
    again = ("--role", "compliance", "--from", str(office.home / "risk.key"))
    office.key("again", *again, "--name", "another")
    assert "with this same key" in refusal(office.sign(office.bundle, "again"))


def test_one_name_in_two_roles_is_one_person(office: Office) -> None:
    office.sign(office.draft, "risk")
    office.key("namesake", "--role", "compliance", "--name", "risk-officer")
    assert "signed" in (said := refusal(office.sign(office.bundle, "namesake")))
    assert "two people must sign" in said


def test_the_author_does_not_sign(office: Office) -> None:
    office.key("author", "--role", "risk", "--name", "quant-desk")
    assert "author" in refusal(office.sign(office.draft, "author"))
    assert not office.bundle.exists()


def test_more_signatures_than_there_are_officers_could_never_be_given(office: Office) -> None:
    office.edit(office.draft, "signatures_min = 2\n", "signatures_min = 3\n")
    assert "write signatures_min = 2" in refusal(office.sign(office.draft, "risk"))


def test_a_key_file_without_a_role_is_carried_over_first(office: Office) -> None:
    (office.home / "old.key").write_text("ab" * 32)
    assert "--from" in refusal(office.sign(office.draft, "old"))
    (office.home / "garbage.key").write_text("garbage")
    assert "holds no signing key" in refusal(office.sign(office.draft, "garbage"))


def test_a_draft_edited_after_a_signature_is_not_signed(office: Office) -> None:
    office.sign(office.draft, "risk")
    office.edit(office.draft, "value = 300\n", "value = 900\n")
    said = refusal(office.sign(office.draft, "compliance"))
    assert "was edited after" in said
    assert f"countersign policy diff {office.bundle} {office.draft}" in said
    assert len(read_policy(office.bundle).signed.signatures) == 1


def test_a_bundle_edited_after_a_signature_is_neither_signed_nor_served(office: Office) -> None:
    office.sign(office.draft, "risk")
    document: Any = json.loads(office.bundle.read_bytes())
    document["policy"]["account"]["gross_max"]["value"] += 1
    office.bundle.write_text(json.dumps(document))
    publics = office.publics("risk")
    assert "edited after signing" in refusal(office.sign(office.bundle, "compliance", *publics))
    shown = office.show(office.bundle, *publics)
    assert "signature  risk:risk-officer: WRONG" in shown.output
    assert shown.exit_code == 1
    unseen = office.sign(office.bundle, "compliance")
    assert unseen.exit_code == 0, "without the other's public key nobody can see it"
    with pytest.raises(SettingsError, match="risk:risk-officer WRONG"):
        served_policy(office.give(), wall_us())


def test_serve_refuses_a_policy_with_one_signature_and_says_whose_is_missing(
    office: Office,
) -> None:
    office.sign(office.draft, "risk")
    with pytest.raises(SettingsError, match="compliance did not sign"):
        served_policy(office.give(), wall_us())


def test_serve_refuses_a_policy_that_others_signed(office: Office) -> None:
    office.key("stranger", "--role", "compliance", "--name", "compliance-officer")
    office.sign(office.draft, "risk")
    office.sign(office.draft, "stranger")
    with pytest.raises(SettingsError, match="compliance:compliance-officer WRONG"):
        served_policy(office.give(), wall_us())


@pytest.mark.parametrize(("days", "said"), [(-1, "not valid before"), (400, "expired")])
def test_a_policy_out_of_its_time_is_a_warning_because_open_orders_need_the_gateway(
    office: Office, days: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    office.sign(office.draft, "risk")
    office.sign(office.draft, "compliance")
    now_us = read_policy(office.draft).policy.not_before_us + days * DAY_US
    served_policy(office.give(), now_us)
    err = capsys.readouterr().err
    assert said in err
    assert "every intent is refused" in err


def test_a_difference_says_what_it_loosens(office: Office) -> None:
    other = office.home / "other.toml"
    shutil.copy(office.draft, other)
    same = office.do("policy", "diff", office.draft, other)
    assert (same.exit_code, same.output) == (0, "the policies are the same\n")
    office.edit(other, "value = 300\n", "value = 400\n")
    found = office.do("policy", "diff", office.draft, other)
    assert found.output == "loosens  classes.index.price_collar.value: 300 -> 400\n"
    assert found.exit_code == 1


def test_another_order_is_said_because_its_digest_is_another(office: Office) -> None:
    office.sign(office.draft, "risk")
    document: Any = json.loads(office.bundle.read_bytes())
    document["policy"]["instruments"].reverse()
    office.bundle.write_text(json.dumps(document))
    found = office.do("policy", "diff", office.draft, office.bundle)
    assert (found.exit_code, found.output) == (1, "only the order of the sections differs\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "format"),
        (b'name = "a"\nversion = = 1\n', "line 2, column 11: not TOML"),
        (b'{\n"policy": oops}', "line 2: not JSON"),
        (b"# first\n\xff\xfe\n", "line 2: not text"),
        (b'{"policy": {}, "signatures": []}', "format"),
        (b'{"policy": 1, "signatures": 1}', "policy"),
        (b'{"a": 1}', "format"),
    ],
)
def test_a_file_that_is_no_policy_is_named_with_its_line(
    office: Office, content: bytes, said: str
) -> None:
    garbage = office.home / "garbage.toml"
    garbage.write_bytes(content)
    for result in (
        office.show(garbage),
        office.sign(garbage, "risk"),
        office.do("policy", "diff", office.draft, garbage),
        office.do("policy", "new", office.home / "n.toml", "--from", garbage),
    ):
        text = refusal(result)
        assert said in text
        assert str(garbage) in text
    assert not (office.home / "n.toml").exists()


def test_a_missing_file_is_named(office: Office) -> None:
    assert "cannot read" in refusal(office.show(office.home / "none.toml"))


TABLE = """
[[instrument]]
symbol = "AAPL"
asset_class = "equity"
currency = "USD"
tick = "0.01"
lot = 1
multiplier = 1
min_qty = 1
max_qty = 400
calendar = "XNYS"

[[instrument]]
symbol = "SPXN"
asset_class = "index"
currency = "USD"
tick = "0.01"
lot = 1
multiplier = 1
min_qty = 1
max_qty = 1000
calendar = "XNYS"
"""


def test_a_draft_for_a_table_names_exactly_its_instruments(office: Office) -> None:
    table, file = office.home / "instruments.toml", office.home / "own.toml"
    table.write_text(TABLE)
    done = office.do("policy", "new", file, "--instruments", table)
    assert done.exit_code == 0, done.exception
    own = read_policy(file).policy
    assert [one.asset_class for one in own.classes] == ["equity", "index"]
    assert [one.symbol for one in own.instruments] == ["AAPL", "SPXN"]
    assert {one.symbol: one.asset_class for one in own.instruments} == {
        "AAPL": "equity",
        "SPXN": "index",
    }
    for section in own.instruments:
        assert section.position_max.rationale.startswith("Starting value")
    assert (own.version, own.parent) == (1, "")


def test_the_next_version_for_a_table_follows_the_policy_as_it_was(office: Office) -> None:
    table, file = office.home / "instruments.toml", office.home / "next.toml"
    table.write_text(TABLE)
    assert office.do(
        *("policy", "new", file, "--from", office.draft, "--instruments", table)
    ).exit_code == 0  # fmt: skip
    old, new = read_policy(office.draft).policy, read_policy(file).policy
    assert (new.version, new.parent) == (2, policy_digest(old))


def test_a_draft_for_a_table_with_errors_is_not_written(office: Office) -> None:
    table, file = office.home / "instruments.toml", office.home / "own.toml"
    table.write_text(TABLE.replace('"0.01"', '"0"', 1))
    done = office.do("policy", "new", file, "--instruments", table)
    assert "line 6" in str(done.exception)
    assert not file.exists()
