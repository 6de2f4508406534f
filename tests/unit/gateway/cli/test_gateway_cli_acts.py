"""Every act of the table is a verb, or says why not; a verb asks what its row says."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateway.acts.act import Act
from gateway.acts.table import ACTS
from gateway.acts.verb import Verb
from gateway.cli.binder import acts_app
from gateway.cli.lines import lines_of
from gateway.cli.main import app, every_verb
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.controls.statements import all_signed, statement
from gateway.desk.officers.adjustment import adjustment_statement
from gateway.desk.signing import SIGNED
from gateway.installation.keys.keyring import Keyring
from tests.doubles.verbs import DoorNotes, typed

ASKED = [act for act in ACTS if act.verb]
NAMES = [act.name for act in ASKED]
TYPED = [act for act in ASKED if act.verb and not act.verb.file]


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> DoorNotes:
    made = DoorNotes()
    made.stand_in(monkeypatch)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Keyring.create(tmp_path / "state" / "keys")
    return tmp_path / "state"


def test_no_words_call_two_verbs() -> None:
    words = [words for words, _ in every_verb()]
    assert sorted(set(words)) == sorted(words)
    assert {act.verb.words for act in ASKED if act.verb} <= set(words)


@pytest.mark.parametrize("act", TYPED, ids=[act.name for act in TYPED])
def test_the_example_of_a_verb_is_one_that_it_takes(
    act: Act, door: DoorNotes, folder: Path
) -> None:
    assert act.verb is not None
    noted = [{"ref": ref, "seq": 1, "leaf": "aa"} for ref in ("note-7", "region-7")]
    door.found = {"log_id": "log#00", "publications": noted, "justifications": noted}
    door.found |= {act.verb.items: []} if act.verb.items and not act.body else {}
    code, said = typed(folder, *act.verb.words.split(), *shlex.split(act.verb.example))
    assert code == 0, said
    path, token, body = door.sent[-1]
    assert path.count("/") == act.path.count("/")
    assert token == Keyring(folder / "keys").token(act.verb.key)
    assert (body is None) is act.is_read


@pytest.mark.parametrize("act", ASKED, ids=NAMES)
def test_every_argument_and_option_of_a_verb_is_explained(act: Act) -> None:
    assert act.verb is not None
    shown = CliRunner().invoke(app, [*act.verb.words.split(), "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert act.says.split(".", maxsplit=1)[0] in shown.output
    undescribed = {
        name
        for name, info in (act.body.model_fields if act.body else {}).items()
        if not info.description and not act.verb.file and name not in {"signatures", "positions"}
    }
    assert undescribed - set(act.verb.arguments) == set()


def test_a_verb_that_both_officers_sign_has_a_statement_and_no_other_has_one() -> None:
    assert {act.name for act in ASKED if act.verb and act.verb.signs} == set(SIGNED)


def test_options_become_the_body_and_what_is_not_said_is_left_to_the_row(
    door: DoorNotes, folder: Path
) -> None:
    door.done = {"seq": 5, "again": False}
    words = ("note-7", "--instrument", "SPXN", "--author", "eq", "--medium", "research")
    code, said = typed(
        folder, "publications", "add", *words, "--reference", "n/7", "--as", "auditor"
    )
    assert (code, said.split(":")[0]) == (0, "record 5")
    body = {"ref": "note-7", "instrument": "SPXN", "author": "eq", "medium": "research"}
    sent = body | {"reference": "n/7", "published_us": None}
    assert door.sent == [("/v1/publications", Keyring(folder / "keys").token("auditor"), sent)]
    door.done = {"seq": 5, "again": True}
    _, said = typed(folder, "publications", "add", *words, "--reference", "n/7")
    assert said.startswith("on record before: record 5")


def test_an_id_is_quoted_and_a_client_key_is_made_for_each_request(
    door: DoorNotes, folder: Path
) -> None:
    door.done = {"seq": 5}
    for _ in range(2):
        code, said = typed(folder, "annotate", "d/1", "--text", "late", "--sort", "dissent")
        assert (code, said) == (0, "dissent on d/1 is on record as 5\n")
    (first, _, one), (_, _, two) = door.sent
    assert first == "/v1/decisions/d%2F1/annotations"
    assert one.pop("client_key") != two.pop("client_key")
    assert one == two == {"sort": "dissent", "text": "late", "instead": None, "about_seq": None}
    typed(folder, "annotate", "d-1", "--text", "late", "--key", "again")
    assert door.sent[-1][2]["client_key"] == "again"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("review", "draw", "--from", "monday"),
            "--from: 'monday' is not written as it must be",
        ),
        (("cases", "note", "c", "--text", ""), "--text: String should have at least 1"),
        (("adjust", "gift", "--ref", "a", "--reason", "b", "--evidence", "c"), "--sort: Input"),
    ],
)
def test_a_wrong_option_is_named_and_nothing_is_asked(
    door: DoorNotes, folder: Path, words: tuple[str, ...], why: str
) -> None:
    code, said = typed(folder, *words)
    assert code == 2
    assert said.startswith(f"countersign: {why}")
    assert door.sent == []


def test_a_body_of_many_parts_is_a_file(door: DoorNotes, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "parts.json"
    file.write_text('{"parts": {"a": 3, "b": -1}}')
    code, said = typed(folder, "allocation", "split", "d-1", file)
    assert (code, door.sent) == (2, [])
    assert said.startswith(f"countersign: {file}: parts.b: Input should be greater")
    file.write_text('{"parts": {"a": 3}}')
    door.done = {"seq": 9}
    code, said = typed(folder, "allocation", "split", "d-1", file)
    assert (code, said) == (0, "the split of d-1 is on record as 9\n")
    assert door.sent[-1][2] == {"parts": {"a": 3}}
    assert typed(folder, "allocation", "split", "d-1", tmp_path / "none.json")[0] == 2


def test_a_list_is_a_line_for_each_and_the_whole_answer_as_json(
    door: DoorNotes, folder: Path
) -> None:
    stop = {"stop": "pause", "by": "ada", "reason": "a test", "seq": 4}
    door.found = {"stops": [stop]}
    assert typed(folder, "stops") == (1, "pause by ada: a test (4)\n")
    code, said = typed(folder, "stops", "--json")
    assert (code, json.loads(said)) == (1, door.found)
    door.found = {"stops": []}
    assert typed(folder, "stops") == (0, "no stop is in force\n")


def test_both_officers_sign_what_is_sent(door: DoorNotes, folder: Path) -> None:
    keys = Keyring(folder / "keys").public_keys()
    door.found = {"log_id": "log#00", "publications": [{"ref": "a", "seq": 3, "leaf": "ab"}]}
    door.done = {"seq": 8, "ref": "a"}
    code, said = typed(folder, "publications", "end", "a", "--reason", "a mistake")
    assert (code, said) == (0, "a does not count any more: record 8\n")
    body: dict[str, Any] = door.sent[-1][2]
    text = statement("publication end", "log#00", "record 3 ab", 'reason "a mistake"')
    assert all_signed(text, body["signatures"], keys)
    code, said = typed(folder, "publications", "end", "b", "--reason", "a mistake")
    assert (code, "none of the publications on record is named b" in said) == (2, True)

    split = ("adjust", "split", "--ref", "s", "--instrument", "SPXN", "--ratio", "2:1")
    door.done = {"seqs": [7, 8], "again": False}
    code, said = typed(folder, *split, "--reason", "notice", "--evidence", "7")
    assert (code, said) == (0, "split s: record 7, 8\n")
    act = next(one for one in ACTS if one.name == "adjustments.adjust")
    assert act.body is not None
    body = door.sent[-1][2]
    request: Any = act.body.model_validate({**body, "signatures": {}})
    assert all_signed(adjustment_statement("log#00", request), body["signatures"], keys)
    assert not all_signed(adjustment_statement("log#01", request), body["signatures"], keys)


def test_no_gateway_is_one_line_and_no_success(folder: Path) -> None:
    code, said = typed(folder, "stops")
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith(f"countersign: no gateway runs on {folder}")


def test_a_line_says_times_shares_lists_and_what_is_not_there() -> None:
    verb = Verb(
        words="a",
        example="",
        line="{at_us} {kappa_ppm} {who} {who:n} {closes:2} {news} {yes} {sheet[lots]} {sheet[no]}",
    )
    answer = {
        "at_us": 1_600_000_000_000_000,
        "kappa_ppm": 512_000,
        "who": ["ada", "bob"],
        "closes": [[1, 10], [2, 20], [3, 30]],
        "news": [{"at_us": 5, "headline": "up"}],
        "yes": True,
        "sheet": {"lots": 0},
    }
    (line,) = lines_of(verb, answer, {})
    assert line == "2020-09-13T12:26Z 0.51 ada, bob 2 20, 30 up yes 0 -"


@pytest.mark.parametrize(
    "more", [{}, {"verb": Verb(words="a", example=""), "left_out": "also by hand"}]
)
def test_an_act_has_a_verb_or_says_why_it_has_none(more: dict[str, Any]) -> None:
    row: dict[str, Any] = {"name": "a.b", "summary": "", "says": "", "action": "watch"}
    with pytest.raises(ValueError, match="left_out"):
        Act(**row, path="/v1/a", body=IntentRequest, **more)


def test_the_binder_has_made_a_verb_of_each_row_that_names_one() -> None:
    made = acts_app()
    own = len(made.registered_commands)
    inside = (g.typer_instance for g in made.registered_groups)
    assert own + sum(len(one.registered_commands) for one in inside if one) == len(ASKED)
