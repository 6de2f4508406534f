import re
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner
from typing_extensions import override

from gateway.cli.__main__ import main as command
from gateway.cli.main import FIRST, GROUPS, app, every_verb, exit_code_of
from gateway.errors import SettingsError, StateInUseError
from gateway.feeds.instruments.table import PLAYED_TABLE
from gateway.feeds.sessions import load_playback
from gateway.installation.keys.keyring import Keyring
from gateway.installation.policies.policy import given_policy
from gateway.installation.settings import known_names, load
from gateway.installation.state import StateFolder
from gateway.launch.plan import development_plan, serving_plan
from tests.doubles.officers import part_with_officers

VERBS = (  # noqa: SIM905 - as they are typed
    "run serve verify dump decisions show replay export receipt prove kill release keygen settings"
).split()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_says_what_it_does(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "160"})
    assert result.exit_code == 0
    text = plain(result.output)
    assert verb in text
    assert re.search(r"[A-Z][a-z]+[^.]*\.", text), "no sentence"


def test_the_help_is_a_screen_of_twelve_verbs_and_says_where_the_others_are() -> None:
    text = plain(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output)
    named = {line.split()[1] for line in text.splitlines() if re.match(r"│ [a-z]", line)}
    assert named == FIRST
    assert len(FIRST) == 12
    assert len(text.splitlines()) <= 45
    assert "`countersign verbs`" in text


def test_every_verb_is_listed_once_under_what_it_is_for() -> None:
    text = CliRunner().invoke(app, ["verbs"]).output
    listed = re.findall(r"^  ([a-z-]+)", text, re.MULTILINE)
    called = {name.split()[0] for name, _ in every_verb()} - {"verbs"}
    assert sorted(listed) == sorted(called)
    assert [title for title in GROUPS if f"{title}\n" not in text] == []


def test_help_is_wrapped_by_the_terminal_alone_and_explains_every_argument() -> None:
    shown = CliRunner().invoke(app, ["backup", "--help"], env={"COLUMNS": "200"})
    assert "whether it is complete. Personal values stay encrypted in it" in plain(shown.output)
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    silent = [
        f"{verb} {parameter.name}"
        for verb, command in group.commands.items()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]
    assert silent == []


def test_settings_lists_every_name() -> None:
    lines = CliRunner().invoke(app, ["settings"]).output.splitlines()
    assert [line.split()[0] for line in lines] == list(known_names())


@pytest.mark.parametrize(
    "missing", ["DSN", "KEYS", "PORT", "INSTRUMENTS", "DEPLOYER", "COMPUTE_OPERATOR"]
)
def test_serve_has_no_default_for_database_keys_and_broker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    given = {
        "COUNTERSIGN_LEDGER__DSN": "postgresql:///nowhere",
        "COUNTERSIGN_KEYS": str(tmp_path),
        "COUNTERSIGN_FIX__PORT": "5001",
        "COUNTERSIGN_INSTRUMENTS": str(PLAYED_TABLE),
        "COUNTERSIGN_LIABILITY__DEPLOYER": "a firm",
        "COUNTERSIGN_LIABILITY__COMPUTE_OPERATOR": "a firm",
    }
    for name, value in given.items():
        if not name.endswith(missing):
            monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        serving_plan(load(state=tmp_path / "state"))
    assert refused.value.name.endswith(missing)
    assert not (tmp_path / "state").exists(), "it made something"


@pytest.mark.parametrize("name", ["COUNTERSIGN_FAILPOINT", "COUNTERSIGN_ENGINE_FAULT"])
def test_serve_refuses_a_tests_hook(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv(name, "settle.sealed:kill@1")
    with pytest.raises(SettingsError) as refused:
        serving_plan(load(state=tmp_path))
    assert refused.value.name == name


def test_serve_keeps_its_account_over_restarts_and_run_opens_a_new_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = load(state=tmp_path / "state")
    playback = load_playback()
    runs = [development_plan(settings, playback).tags for _ in range(2)]
    assert len({tags.account for tags in runs}) == 2
    for name, value in (
        ("COUNTERSIGN_LEDGER__DSN", "postgresql:///nowhere"),
        ("COUNTERSIGN_KEYS", str(tmp_path / "state" / "keys")),
        ("COUNTERSIGN_FIX__PORT", "5001"),
        ("COUNTERSIGN_LIABILITY__DEPLOYER", "a firm"),
        ("COUNTERSIGN_LIABILITY__COMPUTE_OPERATOR", "a firm"),
        ("COUNTERSIGN_INSTRUMENTS", str(PLAYED_TABLE)),
    ):
        monkeypatch.setenv(name, value)
    part_with_officers(tmp_path / "state" / "keys", tmp_path)
    served = [serving_plan(load(state=tmp_path / "state")).tags for _ in range(2)]
    assert {tags.account for tags in served} == {"desk"}
    assert served[0].run_id != served[1].run_id


def test_serve_without_a_signed_policy_is_one_line(tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "keys")
    with pytest.raises(SettingsError, match="no signed policy"):
        given_policy(ring)
    (ring.folder / "policy.bundle.json").write_text("{}")
    with pytest.raises(SettingsError, match="no signed policy"):
        given_policy(ring)


@pytest.mark.parametrize("host", ["fix.broker.example", "127.0.0.1"])
def test_run_says_that_it_would_not_use_a_brokers_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str
) -> None:
    monkeypatch.setenv("COUNTERSIGN_FIX__HOST", host)
    with pytest.raises(SettingsError, match=r"would not use .*serve") as refused:
        development_plan(load(state=tmp_path / "state"), load_playback())
    assert refused.value.name == "COUNTERSIGN_FIX__HOST"
    assert not (tmp_path / "state").exists(), "it made something"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", ""])  # noqa: S104 - refused
def test_run_binds_loopback_only(tmp_path: Path, host: str) -> None:
    base = load(state=tmp_path)
    chosen = base.model_copy(update={"api": base.api.model_copy(update={"host": host})})
    with pytest.raises(SettingsError) as refused:
        development_plan(chosen, load_playback())
    assert refused.value.name == "COUNTERSIGN_API__HOST"


def test_a_second_process_in_one_folder_is_told_who_holds_it(tmp_path: Path) -> None:
    state = StateFolder.of(load(state=tmp_path / "state"))
    state.create()
    with state.lock(), pytest.raises(StateInUseError) as refused:
        state.lock()
    assert "stop it, or choose another" in str(refused.value)
    state.lock().close()


@pytest.mark.parametrize("verb", [["kill"], ["release", "--reason", "x"], ["prove", "1"]])
def test_a_verb_without_a_state_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    arguments = [*verb, "--state", str(tmp_path / "none")]
    code = exit_code_of(lambda: app(arguments, standalone_mode=False))
    assert code == 2
    said = capsys.readouterr().err
    assert said.startswith("countersign: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("folder", ["empty", "none"])
def test_only_a_start_and_a_restore_make_a_ledger(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
) -> None:
    """What is pointed at the wrong folder says so in one line, and leaves nothing behind."""
    (tmp_path / "empty").mkdir()
    why = ("--reason", "x")
    verbs = [
        *(["verify"], ["fsck"], ["show", "d"], ["replay", "d"], ["export", "--decision", "d"]),
        *(["dump", "f"], ["backup", "f"], ["receipt", "d"], ["prove", "1"], ["tiles", "f"]),
        *(["rotate-key"], ["rotate-key", "--finish"], ["kill"], ["release", *why]),
        *(["erase", "--subject", "psn-1", "--basis", "x"], ["hold", "--scope", "all", *why]),
        *(["release-hold", "h", *why], ["disclose", "1", "--out", "f", *why]),
    ]
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for verb in verbs:
        arguments = [*verb, "--state", str(tmp_path / folder)]
        code = exit_code_of(partial(app, arguments, standalone_mode=False))
        said = "".join(capsys.readouterr())
        judges = verb[0] in {"verify", "fsck"}
        assert code == (3 if judges else 2), verb
        assert said.startswith("NOT CHECKABLE: no ledger in " if judges else "countersign: ")
        assert said.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before, verb


@pytest.mark.parametrize("verb", ["verify", "fsck", "restore"])
def test_a_verdict_of_arguments_that_cannot_be_read_is_not_checkable(verb: str) -> None:
    given = [verb, "x"] if verb == "restore" else [verb]
    assert CliRunner().invoke(app, [*given, "--nonsense"]).exit_code == 3


def test_fsck_without_a_state_says_in_its_last_line_that_nothing_is_known(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["fsck", "--state", str(tmp_path / "none")])
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1].startswith("NOT CHECKABLE: ")


@pytest.mark.parametrize("dsn", ["postgresql://u:SECRET@127.0.0.1:1/x", "no such=SECRET words"])
def test_a_database_out_of_reach_is_one_line_and_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, dsn: str
) -> None:
    monkeypatch.setenv("COUNTERSIGN_LEDGER__DSN", dsn)
    for verb in ("verify", "fsck"):
        result = CliRunner().invoke(app, [verb, "--state", str(tmp_path / "s")])
        assert result.exit_code == 3, result.output
        assert result.stdout.splitlines()[-1].startswith("NOT CHECKABLE: ")
        assert "SECRET" not in result.output
    arguments = ["backup", str(tmp_path / "b"), "--state", str(tmp_path / "s")]
    assert exit_code_of(lambda: app(arguments, standalone_mode=False)) == 2
    said = capsys.readouterr().err
    assert said.startswith("countersign: ")
    assert "SECRET" not in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "given",
    [
        ["--dump", "a", "--tiles", "b"],
        ["--tiles", "b", "--resume"],
        ["--tiles", "b", "--no-payloads"],
        ["--dump", "a", "--state", "c"],
        ["--dump", "a", "--checkpoint", "none"],
        ["--dump", "a", "--rotation", "none"],
    ],
)
def test_fsck_takes_no_option_that_does_not_apply(given: list[str]) -> None:
    result = CliRunner().invoke(app, ["fsck", *given])
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1].startswith("NOT CHECKABLE: ")


def test_a_ctrl_c_while_the_modules_load_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loading(ModuleType):
        @override
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "gateway.cli.main", Loading("gateway.cli.main"))
    with pytest.raises(SystemExit) as ended:
        command()
    assert ended.value.code == 130
