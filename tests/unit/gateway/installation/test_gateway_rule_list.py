"""`countersign rules` shows every rule with its definition."""

import json

from typer.testing import CliRunner

from gateway.cli.main import app
from risk.rules.catalogue import RULES


def test_every_rule_is_shown_with_its_checks_and_source() -> None:
    done = CliRunner().invoke(app, ["rules"])
    assert done.exit_code == 0
    for rule in RULES:
        assert f"**{rule.rule_id}** version {rule.version}" in done.output
        assert all(f"`{check.name}`" in done.output for check in rule.checks)


def test_json_names_formats_and_definition() -> None:
    done = CliRunner().invoke(app, ["rules", "r37", "R04", "--json"])
    four, other = json.loads(done.output)
    assert (four["rule"], four["formats"]) == ("R04", [1, 2])
    assert (other["rule"], other["formats"]) == ("R37", [2])
    assert "withdrawn_times" in other["definition"]
    assert [check["name"] for check in other["checks"]] == ["withdrawn"]


def test_an_unknown_rule_is_named() -> None:
    done = CliRunner().invoke(app, ["rules", "R99"])
    assert done.exit_code
    assert "R99 is no rule" in str(done.exception)
