"""The documents say what the code says."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from gateway.settings import known_names

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_generated_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/document.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_readme_lists_every_setting_and_no_other() -> None:
    assert set(re.findall(r"\| `(COUNTERSIGN_\w+)` \|", README)) == set(known_names())


def test_every_make_word_in_the_documents_exists() -> None:
    words = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {
        word
        for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")
        for word in re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / name).read_text(), re.MULTILINE)
    }
    assert used
    assert used <= words


def test_every_file_named_in_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`((?:gateway|risk|audit|inference|fix|tests)/[\w/.]+\.py)`", text))
    assert named
    assert {name for name in named if not (ROOT / name).is_file()} == set()


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
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    dead = [
        f"{document.name}: {target}"
        for document in documents
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text())
        if not (document.parent / target).exists()
    ]
    assert dead == []
