"""The documents say what the code says."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from audit.privacy.retention import RULES
from gateway.cli.binder import acts_app
from gateway.cli.main import app, every_verb
from gateway.installation.settings import OUTSIDE, known_names

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("gateway", "audit", "fix", "inference", "risk")
MEASURED = (DOCS / "measured" / "README.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def test_generated_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/document.py", "--check"],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("COUNTERSIGN_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_settings_page_lists_every_setting_and_no_other() -> None:
    listed = re.findall(r"\| `(COUNTERSIGN_\w+)` \|", (DOCS / "settings.md").read_text())
    assert sorted(listed) == sorted(known_names())


def test_every_setting_named_in_the_documents_exists() -> None:
    named = {
        (page.name, name)
        for page in PAGES
        for name in re.findall(r"`(COUNTERSIGN_[A-Z0-9_]*[A-Z0-9])\b", page.read_text())
    }
    known = known_names().keys() | OUTSIDE
    assert named
    assert {(page, name) for page, name in named if name not in known} == set()


def test_privacy_page_has_the_retention_table_of_the_code() -> None:
    text = (DOCS / "privacy.md").read_text()
    for name, rule in RULES.items():
        row = f"| {name.value} | {rule.what} | {rule.years} | {rule.source} |"
        assert rule.years == 0 or row in text, row


def test_every_decision_is_in_the_index() -> None:
    folder = DOCS / "decisions"
    index = (folder / "README.md").read_text()
    listed = re.findall(
        r"^- \[(\d{3})\]\((\1-[\w-]+\.md)\): (.+?)(?:; changed by .+)?$", index, re.MULTILINE
    )
    assert sorted(file for _, file, _ in listed) == sorted(f.name for f in folder.glob("[0-9]*.md"))
    for number, file, title in listed:
        first = (folder / file).read_text().partition("\n")[0]
        assert first == f"# {number}: {title}"


def test_readme_is_one_page() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90


def measured(name: str) -> str:
    return (DOCS / "measured" / name).read_text()


def numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text)


def thousands(text: str) -> float:
    return int(text.replace(",", "")) / 1000


def size_row() -> list[str]:
    """The measured sizes of what runs by default: capture, largest, decision, GB a year."""
    return numbers(re.findall(r"\| table \| 1024 x 10 \|(.*)", measured("ledger-size.md"))[0])


def test_index_repeats_the_playback_as_its_page_has_it() -> None:
    run = dict(re.findall(r"\| `?([\w ]+?)`? \| (.+?) \|", measured("playback.md")))
    rejects = sum(map(int, numbers(run["rejects"])))
    wire = [f"{float(run[f'decision_to_wire_ms_p{n}']):.0f} ms" for n in (50, 99)]
    for shown in (
        f"{run['forecasts']}, {run['orders']}, {run['fills']}, {rejects}; ledger verified",
        f"{float(run['mean_accepted']):.2f} drafted by the table",
        f"the table's own expectation {float(run['table_accepted']):.2f} |",
        f"| {float(run['forecast_ms_p50']):.0f} ms |",
        f"| {' / '.join(wire)} |",
    ):
        assert shown in MEASURED, shown
    on_disk = thousands(size_row()[2])
    assert 0.8 < int(run["bytes_per_decision"]) / 1000 / on_disk < 1.25, "one of them is old"


def test_index_repeats_the_measurements_as_their_pages_have_them() -> None:
    lines = measured("bench-ledger.md")
    claims = dict(re.findall(r"^\| (.+?) \| .*? \| (.+?) \|$", lines, re.MULTILINE))
    pairs = next(value for name, value in claims.items() if "256 writers" in name)
    added = next(value for name, value in claims.items() if name.startswith("one writer"))
    tail, *times = numbers(next(value for name, value in claims.items() if "`fdatasync`" in name))
    median, best, judge, reader, _ = numbers(
        re.findall(r"1,000,000 \| columns only \|(.*)", measured("bench-fsck.md"))[0]
    )
    rate = f"{thousands(median):.0f},000, best {thousands(best):.0f},000"
    witness = numbers(re.findall(r"\| one witness \|(.*)", measured("bench-witness.md"))[0])
    table = re.findall(
        r"\n\| (?:1|8|32) \| \d+ \| \d+ \| \d+ \| (\S+) \(\d", measured("bench-engine.md")
    )
    capture, _, decision, year = size_row()
    for shown in (
        f"| {pairs}; {numbers(added)[0]} ms |",
        f"| {tail} ({float(times[0]):.1f} ms, {float(times[1]):.1f} ms);",
        f"| {rate}; {reader} MiB a reader and {judge} MiB",
        f"| {witness[2]} ms / {witness[3]} ms |",
        f"| {', '.join(table)} times faster",
        f"| {thousands(decision):.1f} kB, {thousands(capture):.1f} kB, {float(year):.0f} GB |",
    ):
        assert shown in MEASURED, shown


def test_every_make_word_in_the_documents_exists() -> None:
    words = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {
        word
        for page in PAGES
        for word in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    assert used
    assert used <= words


GROUPS = {words.partition(" ")[0] for words, _ in every_verb() if " " in words}


def typed_commands() -> set[tuple[str, str, tuple[str, ...]]]:
    """Every command that a page shows: the page, the verb, the options that it is given."""
    found = set()
    for page in PAGES:
        if page.name == "CHANGELOG.md":  # which tells of forms that are gone
            continue
        text = page.read_text()
        shown = re.findall(r"^ *```\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
        typed = "\n".join(shown).replace("\\\n", " ").splitlines()
        lines = [line.partition(" # ")[0] for line in typed] + re.findall(r"`([^`\n]+)`", text)
        for line in lines:
            for verb, rest in re.findall(r"(?:^|[ /])countersign ([a-z][a-z-]*)([^&]*)", line):
                words = [verb, *rest.split()[:1]] if verb in GROUPS else [verb]
                options = re.sub(r"\"[^\"]*\"|'[^']*'", "", rest)
                found.add((page.name, " ".join(words), tuple(re.findall(r"(--[a-z-]+)", options))))
    return found


def test_every_command_in_the_documents_exists_with_its_options() -> None:
    commands = typed_commands()
    verbs = {
        f"{name} {inner}" if inner else name: verb
        for group in map(get_command, (app, acts_app()))
        if isinstance(group, TyperGroup)
        for name, command in group.commands.items()
        for inner, verb in (
            command.commands.items() if isinstance(command, TyperGroup) else [("", command)]
        )
    }
    known = {
        verb: {option for parameter in command.params for option in parameter.opts}
        | {option for parameter in command.params for option in parameter.secondary_opts}
        for verb, command in verbs.items()
    }
    wrong = [
        (page, verb, options)
        for page, verb, options in sorted(commands)
        if verb not in known or not {*options} <= known[verb] | {"--help"}
    ]
    assert len({verb for _, verb, _ in commands}) > 20
    assert wrong == []


def test_architecture_has_a_word_on_every_folder_and_stays_short() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.encode()) <= 24 * 1024
    parts = dict(
        re.findall(r"^\*\*`(\w+)/`\*\*(.*?)(?=^\*\*`|^## )", text, re.DOTALL | re.MULTILINE)
    )
    folders = {
        path.parent.relative_to(ROOT)
        for name in PACKAGES
        for path in (ROOT / name).rglob("__init__.py")
    }
    missing = [
        str(folder)
        for folder in folders
        if len(folder.parts) > 1 and f"{folder.name}/`" not in parts[folder.parts[0]]
    ]
    assert len(folders) > len(PACKAGES)
    assert missing == []


def test_every_file_named_in_the_documents_exists() -> None:
    named = {
        (page.name, name)
        for page in PAGES
        if page.name != "CHANGELOG.md"  # which tells of files that are gone
        for name in re.findall(
            r"(?:`|\s)((?:gateway|risk|audit|inference|fix|tests|scripts)/[\w/.]+\.\w+)`",
            page.read_text(),
        )
    }
    assert any(page == "ARCHITECTURE.md" for page, _ in named)
    assert {(page, name) for page, name in named if not (ROOT / name).is_file()} == set()


def test_image_and_compose_set_only_known_settings() -> None:
    for name in ("compose.yaml", "Dockerfile"):
        used = set(re.findall(r"COUNTERSIGN_\w+", (ROOT / name).read_text()))
        assert used
        assert used <= set(known_names())


def test_compose_tells_the_gateway_no_administrators_password() -> None:
    services = re.split(r"^  (\w+):$", (ROOT / "compose.yaml").read_text(), flags=re.MULTILINE)
    told = {name for name, text in pairwise(services) if "POSTGRES_PASSWORD" in text}
    assert told == {"postgres", "migrate"}
    gateway = services[services.index("gateway") + 1]
    assert "//countersign_app:${LEDGER_PASSWORD" in gateway


def test_every_link_of_the_documents_leads_somewhere() -> None:
    dead = [
        f"{document.name}: {target}"
        for document in PAGES
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text())
        if not (document.parent / target).exists()
    ]
    assert dead == []
