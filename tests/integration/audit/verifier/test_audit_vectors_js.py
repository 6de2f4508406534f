"""Published proofs and checkpoints, asked of the second verifier's own functions."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.doubles.memory_tree import consistency_path, inclusion_path
from tests.doubles.merkle_vectors import (
    EXTENDED,
    INCLUDED,
    LEAVES,
    ROOTS,
    argon,
    spoiled_consistency,
    spoiled_inclusion,
)

ROOT = Path(__file__).resolve().parents[4]
NOTES: dict[str, Any] = json.loads(
    (ROOT / "tests" / "golden" / "vectors" / "notes.json").read_text("utf-8")
)


def hexed(value: object) -> object:
    """Turn the bytes of a question into what JSON can say."""
    if isinstance(value, bytes):
        return value.hex()
    return [hexed(item) for item in value] if isinstance(value, tuple) else value


def test_the_second_verifier_judges_published_vectors_as_published() -> None:
    included, extended = argon()
    sound = [included]
    sound += [
        (LEAVES[i], i, size, inclusion_path(LEAVES[:size], i), ROOTS[size]) for i, size in INCLUDED
    ]
    spoiled = [arguments for place in INCLUDED for _, arguments in spoiled_inclusion(*place)]
    grown = [extended]
    grown += [
        (old, ROOTS[old], size, ROOTS[size], consistency_path(LEAVES[:size], old))
        for old, size in EXTENDED
    ]
    split = [arguments for place in EXTENDED for _, arguments in spoiled_consistency(*place)]
    witnessed = NOTES["checkpoints"][-1]
    policy = f"witness r {NOTES['witness']['key']}\nquorum r\n"
    checkpoints = [*NOTES["checkpoints"], witnessed | {"policy": policy}]
    checkpoints.append(witnessed | {"note": witnessed["note"].replace("1432088532", "1432088533")})
    _, _, rest = witnessed["note"].partition("\n")
    checkpoints += [witnessed | {"note": f"{'a' * size}\n{rest}"} for size in (255, 256)]
    questions = {
        "inclusion": hexed((*sound, *spoiled)),
        "consistency": hexed((*grown, *split)),
        "checkpoints": checkpoints,
    }
    answers = asked(questions)
    assert answers["inclusion"] == [True] * len(sound) + [False] * len(spoiled)
    assert answers["consistency"] == [True] * len(grown) + [False] * len(split)
    *known, cosigned, forged, strange, malformed = answers["checkpoints"]
    # the checksum database's key has another name than its log, so it does not count for it
    assert known == [[0, {}], [0, {}], [1, {}]]
    assert cosigned == [1, {"r": NOTES["witness"]["time_s"]}]
    assert "does not verify" in forged
    assert (strange, malformed) == ([0, {}], "the checkpoint is malformed")


def asked(questions: dict[str, object]) -> dict[str, list[Any]]:
    """Ask everything in one process."""
    node = shutil.which("node")
    assert node is not None, "the second verifier's tests need Node 18 or later: nodejs of Debian"
    runner = ROOT / "tests" / "doubles" / "vectors_questions.mjs"
    done = subprocess.run(
        [node, "--no-warnings", str(runner), str(ROOT / "audit" / "verifier" / "verify.mjs")],
        input=json.dumps(questions).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    answers: dict[str, list[Any]] = json.loads(done.stdout)
    return answers
