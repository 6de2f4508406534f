"""`init` makes one folder for each holder of keys, overwrites nothing and leaves nothing behind."""

import re
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.main import app
from gateway.clock import wall_us
from gateway.errors import GatewayError, RequestError, SettingsError
from gateway.feeds.instruments.table import EXAMPLE, read_table
from gateway.installation.children.fix_profiles import profile_of
from gateway.installation.keys.custody import faults
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.officers import PRIVATE_WORD, refuse_officers_keys
from gateway.installation.keys.roles import Role
from gateway.installation.keys.scopes import KeyScope
from gateway.installation.policies.policy_files import read_policy
from gateway.installation.settings import Settings, load
from gateway.installation.settings_file import plain_fields
from gateway.installation.state import StateFolder
from gateway.launch.setup.agent_scope import FILE
from gateway.launch.setup.answers import Wishes, answered
from gateway.launch.setup.settings_text import LEFT_OUT, PAPER, settings_text
from tests.doubles.beginning import FLAGS, begin


def do(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def refusal(result: Result) -> str:
    assert isinstance(result.exception, GatewayError), result.output
    return str(result.exception)


def test_each_holder_gets_a_folder_and_the_gateway_only_public_halves(tmp_path: Path) -> None:
    desk = begin(tmp_path / "desk")
    assert {one.name for one in desk.iterdir()} == {
        *("gateway", "risk-officer", "compliance-officer"),
        *("operator", "approver", "auditor", "agent", "feed", "monitor"),
    }
    for path in (desk / "gateway").rglob("*"):
        assert path.is_dir() or PRIVATE_WORD.encode() not in path.read_bytes()
    for role in ("risk", "compliance"):
        home = desk / f"{role}-officer"
        assert (home / f"{role}.key").read_text().startswith(f"{PRIVATE_WORD} {role} ")
        assert (desk / "gateway/keys" / f"{role}.pub").read_bytes() == (
            home / f"{role}.pub"
        ).read_bytes()
        assert stat.S_IMODE((home / f"{role}.key").stat().st_mode) == 0o600
    ring = Keyring(desk / "gateway/keys")
    for role in Role:
        token = (desk / role / f"{role}.token").read_text().strip()
        caller = ring.authenticate(token)
        assert caller is not None
        assert (caller.name, caller.role) == (role.value, role)
        assert (ring.folder / f"{role}.token").exists() == (role is Role.OPERATOR)
        assert stat.S_IMODE((desk / role).stat().st_mode) == 0o700


def test_the_agents_key_has_rate_and_budget_and_init_says_them(tmp_path: Path) -> None:
    said = do("init", tmp_path / "desk", *FLAGS, "--equity", "2000000").stdout
    ring = Keyring(tmp_path / "desk/gateway/keys")
    scope = ring.scope("agent")
    assert scope is not None
    assert scope == KeyScope.read(tmp_path / "desk/gateway" / FILE, "agent")
    assert scope.covers("AAPL")
    assert (scope.intents_per_minute, scope.intents_at_once) == (600, 5)
    policy = read_policy(tmp_path / "desk/gateway/policy.toml").policy
    assert scope.order_max(2) == policy.account.order_notional_max.value == 80_000_000
    assert scope.day_max(2) == 400_000_000
    assert scope.expires_us == policy.expires_us
    assert "600 times a minute (5 at once), for orders of up to 800,000.00 and 4,000," in said
    assert all(ring.scope(role) is None for role in Role if role is not Role.AGENT)
    kept = scope.model_copy(update={"intents_per_minute": 30})
    assert ring.issue("agent", Role.AGENT, scope=kept), "keygen changes it"
    assert ring.scope("agent") == kept


@pytest.mark.parametrize(("currency", "order"), [("JPY", "40000000.00"), ("KWD", "40000.00")])
def test_the_agents_budget_is_in_the_money_of_the_book(
    tmp_path: Path, currency: str, order: str
) -> None:
    table = tmp_path / "table.toml"
    text = EXAMPLE.read_text().replace('"USD"', f'"{currency}"')
    table.write_text(re.sub(r'"0\.01"|"268\.\d+"', '"1"', text) if currency == "JPY" else text)
    desk = begin(tmp_path / "desk", "--instruments", table)
    assert f'order_notional_max = "{order}"  # {currency}' in (desk / "gateway" / FILE).read_text()


def test_what_init_made_passes_the_checks_of_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(begin(tmp_path / "desk") / "gateway")
    settings = load()
    state = StateFolder.of(settings)
    assert list(faults(state)) == []
    refuse_officers_keys(state)
    assert settings.ledger.embedded
    assert settings.ledger.dsn is None
    broker = profile_of(settings.fix)
    assert (broker.name, broker.host, broker.port) == ("broker", "fix.example.com", 9878)
    assert (broker.sender_comp_id, broker.target_comp_id) == ("DESK", "BROKER")
    assert broker.tags.beyond_standard == ()
    assert settings.instruments is not None
    listed = list(read_table(settings.instruments).instruments)
    policy = read_policy(Path("policy.toml")).policy
    assert [one.symbol for one in policy.instruments] == listed == ["AAPL"]
    assert policy.not_before_us <= wall_us() < policy.expires_us
    mode = stat.S_IMODE(Path("countersign.toml").stat().st_mode)
    assert mode == 0o600, "it may hold a DSN with a password"


def test_it_says_who_takes_what_and_what_comes_next(tmp_path: Path) -> None:
    said = do("init", tmp_path / "desk", *FLAGS).stdout
    assert "  risk-officer         the risk officer takes it away" in said
    last = [line.strip() for line in said.splitlines()[-6:]]
    assert last == [
        f"cd {tmp_path / 'desk' / 'gateway'}",
        "countersign policy sign policy.toml --key ../risk-officer/risk.key",
        "countersign policy sign policy.bundle.json --key ../compliance-officer/compliance.key",
        "countersign policy activate policy.bundle.json",
        "countersign doctor",
        "countersign serve",
    ]


def test_an_officer_with_a_key_of_his_own_gets_none(tmp_path: Path) -> None:
    assert do("officer-key", tmp_path / "a" / "risk.key", "--role", "risk").exit_code == 0
    public = tmp_path / "a" / "risk.pub"
    desk = begin(tmp_path / "desk", "--risk-public", public)
    assert not (desk / "risk-officer").exists()
    assert (desk / "gateway/keys/risk.pub").read_bytes() == public.read_bytes()
    other = do("init", tmp_path / "other", *FLAGS, "--compliance-public", public)
    assert "the role compliance is needed" in refusal(other)
    assert not (tmp_path / "other").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine")
    done = do("init", tmp_path, *FLAGS)
    assert isinstance(done.exception, RequestError)
    assert "is not empty: init never overwrites" in refusal(done)
    assert [one.name for one in tmp_path.iterdir()] == ["note"]


def test_a_refused_init_leaves_nothing(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text(EXAMPLE.read_text().replace('"0.01"', '"0"'))
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (tmp_path / "new" / "desk", empty):
        assert "table.toml" in refusal(do("init", folder, *FLAGS, "--instruments", table))
    assert not (tmp_path / "new").exists()
    assert list(empty.iterdir()) == []


def test_without_a_terminal_missing_options_are_named(tmp_path: Path) -> None:
    done = do("init", tmp_path / "desk", "--origin", "example.com/desk")
    assert isinstance(done.exception, SettingsError)
    assert done.exception.name == "--broker, --sender, --target"
    assert not (tmp_path / "desk").exists()


def test_a_person_is_asked_for_what_no_option_says() -> None:
    replies = iter(["example.com/desk", "[::1]:9878", "DESK", "", "alpha", ""])
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question.partition(" ")[0])
        return next(replies)

    found = answered(Wishes(target="BROKER"), ask)
    assert (found.host, found.port, found.sender) == ("::1", 9878, "DESK")
    assert (found.dsn, found.account, found.author) == (None, "alpha", "quant-desk")
    assert len(asked) == 6
    full = Wishes(origin="a/b", broker="h:1", sender="S", target="T")
    assert answered(full, ask).account == "desk", "the options suffice: nothing is asked"


@pytest.mark.parametrize("text", ["broker", "broker:", ":9", "broker:0", "broker:70000", "b:x"])
def test_a_broker_is_an_address(tmp_path: Path, text: str) -> None:
    assert "is not HOST:PORT" in refusal(do("init", tmp_path / "d", *FLAGS, "--broker", text))


def test_the_settings_file_lists_every_setting_of_serve_with_its_default(tmp_path: Path) -> None:
    file = tmp_path / "countersign.toml"
    text = settings_text({"account": "alpha", "ledger.embedded": True})
    listed = re.findall(r"^(?:# )?([a-z_0-9]+)(?: =| is not set)", text, re.MULTILINE)
    settings = [
        name
        for section, name, _ in plain_fields(Settings)
        if section not in PAPER and f"{section}.{name}".removeprefix(".") not in LEFT_OUT
    ]
    assert listed == settings
    file.write_text(re.sub(r"^# ([a-z_0-9]+ = )", r"\1", text, flags=re.MULTILINE))
    changed: dict[str, Any] = {"account": "alpha"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        found = load()
        patch.chdir(tmp_path.parent)
        default = load(**changed)
    ledger = default.ledger.model_copy(update={"embedded": True})
    expected = default.model_copy(update={"ledger": ledger, "config": file})
    assert found.model_copy(update={"state": expected.state}) == expected
    assert found.state == tmp_path / "state", "a relative path starts at the file's folder"


def test_init_with_a_database_of_ones_own_says_who_migrates(tmp_path: Path) -> None:
    dsn = "postgresql://app:secret@db/ledger"
    said = do("init", tmp_path / "desk", *FLAGS, "--database", dsn).stdout
    assert "COUNTERSIGN_LEDGER__ADMIN_DSN=.. countersign migrate" in said
    assert "secret" not in said
    text = (tmp_path / "desk/gateway/countersign.toml").read_text()
    assert f'dsn = "{dsn}"' in text
    assert "# embedded = false" in text


def test_nothing_is_made_for_a_table_of_two_currencies(tmp_path: Path) -> None:
    """`serve` would refuse it, after two officers had signed."""
    table = tmp_path / "table.toml"
    dollars = EXAMPLE.read_text()
    euros = dollars[dollars.rindex("[[instrument]]") :].replace('"USD"', '"EUR"')
    table.write_text(f"{dollars}\n{euros.replace('AAPL', 'SAP')}")
    done = do("init", tmp_path / "desk", *FLAGS, "--instruments", table)
    assert "EUR, but most of the table has USD; a book has one currency" in str(done.exception)
    assert not (tmp_path / "desk").exists()


def test_drafts_take_the_currency_of_the_table(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text(EXAMPLE.read_text().replace('"USD"', '"EUR"'))
    do("init", tmp_path / "desk", *FLAGS, "--instruments", table)
    own = tmp_path / "desk" / "gateway"
    policy = read_policy(own / "policy.toml").policy
    assert (policy.currency, policy.name) == ("EUR", "desk")
    assert 'currency = "EUR"' in (own / "broker.toml").read_text()
