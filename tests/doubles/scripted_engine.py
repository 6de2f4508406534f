"""A small engine child for tests: real frames, the plain-Python sampler, misbehaviour on demand.

Run as `python -m tests.doubles.scripted_engine <behaviour> --fd .. --parent .. --config ..`; all
but the model is the product's own child: entry, server, frames, capture.
"""

import argparse
import os
import socket
import time
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from inference.build import build_digest
from inference.engine.frames import MAGIC, config_from
from inference.engine.main import EngineServer, end_with_parent, run
from inference.engine.port import (
    EngineConfig,
    EngineDescription,
    EngineLoad,
    SampleRequest,
    Samples,
    SelfTest,
)
from inference.errors import EngineRefusedError, RegistryError
from inference.speculation.capture import encode_capture
from inference.speculation.rounds import Capture, DrafterKind, row_values
from inference.weights.registry import MANIFEST
from tests.doubles.reference_sampler import ReferenceSampler, draft_model, target_model

NO_PAIR = "0" * 64


class Behaviour(StrEnum):
    """What the child does."""

    WELL = "well"
    SLOW = "slow"  # answers after a second, aborts at once
    HEAVY = "heavy"  # as slow, and hears nothing during a step of half a second
    NO_TWIN = "no_twin"  # answers all but twins
    HANG = "hang"  # stops stepping when asked to sample
    DEAF = "deaf"  # stops reading its pipe once ready
    CRASH = "crash"  # dies when asked to sample
    CRASH_AT_START = "crash_at_start"
    NEVER_READY = "never_ready"
    REFUSE = "refuse"  # its self-test failed
    BAD_FILES = "bad_files"
    GARBAGE = "garbage"  # answers with bytes that are no frame
    HALF_FRAME = "half_frame"
    NAN = "nan"  # answers with a probability that is no number
    OTHER_SEED = "other_seed"
    SHORT = "short"  # one token is missing
    LIE = "lie"  # one verdict does not follow from its numbers
    STRANGER = "stranger"  # answers a request nobody made, then ends well
    OTHER_MODEL = "other_model"  # serves another pair than the one that it was told
    OTHER_BUILD = "other_build"


class ScriptedEngine:
    """Answers requests one by one, in order."""

    def __init__(
        self,
        behaviour: Behaviour,
        config: EngineConfig,
        server: EngineServer,
        moods: Path | None = None,
    ) -> None:
        if behaviour is Behaviour.CRASH_AT_START:
            os._exit(9)
        if behaviour is Behaviour.NEVER_READY:
            time.sleep(3600)
        if behaviour is Behaviour.BAD_FILES:
            raise RegistryError("target/model.safetensors is not what the manifest says")
        self._behaviour: Behaviour = behaviour
        self._moods = moods
        self._config = config
        self._server = server
        self._waiting: dict[str, tuple[SampleRequest, float]] = {}
        self._asked = 0

    def describe(self) -> EngineDescription:
        """Return a description; only the self-test's outcome matters."""
        good = self._behaviour is not Behaviour.REFUSE
        return EngineDescription(
            drafter=DrafterKind.NETWORK,
            spec_k=self._config.spec_k,
            model_id="scripted",
            model_digest=self._stands_for(),
            table_digest="",
            codec_digest="0" * 64,
            versions={"pid": str(os.getpid()), "environment": " ".join(sorted(os.environ))},
            start_ms={},
            self_test=SelfTest(
                passed=good,
                detail="ok" if good else "tokens do not follow the target",
                positions=1,
                chi_square=0.0,
                p_value=1.0,
                row_error=0.0,
                weights_gap=0.0,
                mean_accepted=0.0,
                elapsed_ms=0,
            ),
        )

    def _stands_for(self) -> str:
        """Return the digest of the pair that it was told; zeros where a test names none."""
        manifest = Path(self._config.model_dir) / MANIFEST
        own = sha256(manifest.read_bytes()).hexdigest() if manifest.exists() else NO_PAIR
        return own[::-1] if self._behaviour is Behaviour.OTHER_MODEL else own

    def begin(self, request: SampleRequest) -> None:
        """Take a request, or misbehave."""
        if self._moods is not None:
            self._behaviour = Behaviour(self._moods.read_text())
        if request.spec_k > self._config.spec_k:
            raise EngineRefusedError(f"look-ahead {request.spec_k} is above {self._config.spec_k}")
        if self._behaviour is Behaviour.HANG:
            time.sleep(3600)
        if self._behaviour is Behaviour.CRASH:
            os._exit(9)
        wait_s = 1.0 if self._behaviour in {Behaviour.SLOW, Behaviour.HEAVY} else 0.0
        if self._behaviour is Behaviour.NO_TWIN and request.request_id.endswith(".news"):
            wait_s = 3600.0
        self._waiting[request.request_id] = (request, time.monotonic() + wait_s)
        self._asked += request.size

    def step(self) -> dict[str, Samples | str]:
        """Answer everything that is due."""
        time.sleep(0.5 if self._behaviour is Behaviour.HEAVY else 0.001)
        now = time.monotonic()
        due = [r for r, at in self._waiting.values() if at <= now]
        done: dict[str, Samples | str] = {}
        for request in due:
            del self._waiting[request.request_id]
            done |= self._answer(request)
        return done

    def abort(self, request_id: str) -> bool:
        """Drop a request."""
        return self._waiting.pop(request_id, None) is not None

    @property
    def busy(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)

    def load(self) -> EngineLoad:
        """Return what waits."""
        left = sum(request.size for request, _ in self._waiting.values())
        return EngineLoad(
            requests=len(self._waiting), tokens_left=left, tokens_done=self._asked - left
        )

    def _answer(self, request: SampleRequest) -> dict[str, Samples | str]:
        n_bins = request.allowed_range[1] - request.allowed_range[0]
        sampler = ReferenceSampler(target=target_model(n_bins), draft=draft_model(n_bins))
        capture = sampler.capture(request)
        channel = self._server.channel
        match self._behaviour:
            case Behaviour.GARBAGE:
                channel.sendall(b"\x00" * 64)
            case Behaviour.HALF_FRAME:
                channel.sendall(MAGIC + b"\x00\x00\x01")
                os._exit(0)
            case Behaviour.NAN:
                body = bytearray(encode_capture(capture))
                body[-4:] = b"\x00\x00\xc0\x7f"
                self._server.say("samples", bytes(body), id=request.request_id, elapsed_us=1)
                return {}
            case Behaviour.STRANGER:
                self._server.say("samples", b"", id="nobody", elapsed_us=1)
            case _:
                capture = _bent(capture, self._behaviour)
        return {request.request_id: _samples(capture)}


def _bent(capture: Capture, behaviour: Behaviour) -> Capture:
    last = capture.rounds[-1]
    match behaviour:
        case Behaviour.OTHER_SEED:
            return replace(capture, seeds=tuple(seed + 1 for seed in capture.seeds))
        case Behaviour.SHORT:
            return replace(capture, rounds=capture.rounds[:-1])
        case Behaviour.LIE:
            bins = range(capture.bin_start, capture.bin_start + capture.n_bins)
            other = next(t for t in bins if t != last.token)
            return replace(capture, rounds=(*capture.rounds[:-1], replace(last, token=other)))
        case _:
            return capture


def _samples(capture: Capture) -> Samples:
    return Samples(
        paths=(),
        capture=capture,
        first_row=row_values(capture.rounds[0].p_rows[0]),
        elapsed_us=1,
    )


def main() -> int:
    """Run the child."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("behaviour")
    arguments.add_argument("--fd", type=int, required=True)
    arguments.add_argument("--parent", type=int, required=True)
    arguments.add_argument("--nice", type=int, default=0)
    arguments.add_argument("--config", required=True)
    given = arguments.parse_args()
    end_with_parent(given.parent)
    config = config_from(given.config)
    told = str(given.behaviour)
    moods = Path(told[1:]) if told.startswith("@") else None
    behaviour = Behaviour.WELL if moods else Behaviour(told)
    build = "f" * 64 if behaviour is Behaviour.OTHER_BUILD else build_digest()
    server = EngineServer(socket.socket(fileno=given.fd), build)
    if behaviour is Behaviour.DEAF:
        server.introduce(ScriptedEngine(behaviour, config, server).describe())
        time.sleep(3600)
    return run(server, lambda: ScriptedEngine(behaviour, config, server, moods))


if __name__ == "__main__":
    os._exit(main())
