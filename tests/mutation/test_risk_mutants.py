"""The risk tests notice when a comparison is moved, a rule loses a term, or a check is dropped."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SUITES = ("boundaries", "fail_closed", "approved", "policy", "sizing")
Mutant = tuple[str, str, str, str]

# suite that must notice, file, what stands there, what a careless change would make of it
MUTANTS = (
    (
        "boundaries",
        "evaluate.py",
        "list(map(gt, observed, limits))",
        "[a >= b for a, b in zip(observed, limits)]",
    ),
    ("boundaries", "evaluate.py", "observed[place] < limits", "observed[place] <= limits"),
    (
        "boundaries",
        "evaluate.py",
        "one.observed > whole(one.warn_at)",
        "one.observed >= whole(one.warn_at)",
    ),
    ("fail_closed", "rules/rule.py", "reason = Reason.RULE_FAILED", "return ()"),
    (
        "fail_closed",
        "rules/rule.py",
        "if type(value) is not int:",
        "if not isinstance(value, int):",
    ),
    (
        "boundaries",
        "rules/rule.py",
        "-((-part * scale) // positive(base))",
        "part * scale // positive(base)",
    ),
    ("fail_closed", "rules/exposure.py", "qty + buys <= -position", "qty <= -position"),
    ("fail_closed", "rules/exposure.py", "qty + sells <= position", "qty <= position"),
    ("fail_closed", "rules/exposure.py", "qty + sells <= position", "qty + sells < position"),
    (
        "boundaries",
        "rules/exposure.py",
        "limit_ticks), *touch(case))",
        "limit_ticks), touch(case)[0])",
    ),
    ("boundaries", "rules/limits.py", "abs(2 * whole(", "(2 * whole("),
    ("boundaries", "rules/limits.py", "-found.low_lots,", "found.low_lots,"),
    ("boundaries", "rules/losses.py", "book.past_days[-cooling:]", "book.past_days[:0]"),
    ("boundaries", "rules/losses.py", "day.low_minor), BP", "day.start_minor), BP"),
    ("boundaries", "rules/messages/rates.py", "+ unsent + 1", "+ 1"),
    ("boundaries", "rules/messages/rates.py", "<= window", "< window"),
    ("boundaries", "rules/freshness.py", "ask - bid, limit=1)", "ask - bid, limit=0)"),
    ("boundaries", "rules/ai.py", "else BP - p_up", "else p_up"),
    ("boundaries", "evaluate.py", "action = max([other", "action = min([other"),
    (
        "approved",
        "approved.py",
        "if verdict.action > Action.WARN:",
        "if verdict.action > Action.HOLD:",
    ),
    ("approved", "approved.py", "send_before_us <= approval.expires_us", "True"),
    ("policy", "policy/signing.py", "now_us >= policy.expires_us", "now_us > policy.expires_us"),
    ("policy", "policy/signing.py", "one.signer == bundle.policy.author", "False"),
    ("sizing", "sizing.py", "< target.band_bp and", "<= target.band_bp and"),
    ("boundaries", "state/book.py", "if equity < day.low_minor:", "if equity != day.low_minor:"),
)

PYTEST_INI = "[pytest]\naddopts = --import-mode=importlib\npythonpath = .\n"

# One process imports the heavy libraries once and forks for every mutant.
DRIVER = """
import json, os, sys
import hypothesis, numpy, pydantic, pytest
import cryptography.hazmat.primitives.asymmetric.ed25519

os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
sys.dont_write_bytecode = True
codes, running = {}, set()


def reap():
    child, status = os.wait()
    running.discard(child)
    codes[child] = os.waitstatus_to_exitcode(status)


order = []
for folder in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        sys.path.insert(0, folder)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os._exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--assert=plain", "tests"]))
    order.append(child)
    running.add(child)
    while len(running) >= os.cpu_count():
        reap()
while running:
    reap()
print(json.dumps([codes[child] for child in order]))
"""
CONFTEST = """
from hypothesis import settings
settings.register_profile("mutants", deadline=None)  # no deadline on a busy machine
settings.load_profile("mutants")
"""


def lay_out(folder: Path, mutant: Mutant | None) -> str:
    """A copy of risk and its tests, with one place changed."""
    shutil.copytree(ROOT / "risk", folder / "risk", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "inference").symlink_to(ROOT / "inference")
    (folder / "tests/doubles").mkdir(parents=True)
    shutil.copy(ROOT / "tests/doubles/risk_cases.py", folder / "tests/doubles")
    (folder / "tests/conftest.py").write_text(CONFTEST)
    for suite in SUITES if mutant is None else mutant[:1]:
        (found,) = (ROOT / "tests/unit/risk").rglob(f"test_risk_{suite}.py")
        shutil.copy(found, folder / "tests")
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = --import-mode=importlib\npythonpath = .\n"
    )
    if mutant is not None:
        _, name, old, new = mutant
        source = (folder / "risk" / name).read_text()
        assert source.count(old) == 1, f"{name}: {old!r} must stand there once"
        (folder / "risk" / name).write_text(source.replace(old, new))
    return str(folder)


@pytest.mark.timeout(400)
def test_every_careless_change_is_noticed(tmp_path: Path) -> None:
    wanted = (None, *MUTANTS)
    folders = [lay_out(tmp_path / str(n), mutant) for n, mutant in enumerate(wanted)]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=tmp_path,
        input=json.dumps(folders),
        capture_output=True,
        text=True,
        check=True,
    )
    unchanged, *codes = json.loads(done.stdout)
    assert unchanged == 0, "the copied tests must pass on the unchanged copy"
    survived = [mutant for mutant, code in zip(MUTANTS, codes, strict=True) if code != 1]
    assert survived == []
