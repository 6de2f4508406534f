"""An engine child whose answers are captures of the shipped pair, without a network.

    python -m tests.doubles.table_engine --fd .. --parent .. --config ..

The shipped pair's table has the rows of its target by state (`inference/forecast/direct.py`), and
its drafter is that table. So drafts, draws and acceptance run from the table's rows with the seeds
of the request, by the rules of the served engine: the answers have the target's own law, and differ
from what vLLM says only by last bits of float32. All but the model is the product's own child.

Not here: misbehaviour (`scripted_engine`); words, which need the network.
"""

import argparse
import os
import socket
from collections import deque
from dataclasses import replace
from pathlib import Path

from inference.build import build_digest
from inference.engine.frames import config_from
from inference.engine.main import EngineServer, end_with_parent, run
from inference.engine.port import (
    EngineConfig,
    EngineDescription,
    EngineLoad,
    SampleRequest,
    Samples,
)
from inference.errors import EngineRefusedError
from inference.weights.registry import load_pair, load_table
from inference.weights.text_pair import codec_for
from tests.doubles.row_engine import RowEngine


class TableEngine:
    """Answers requests one by one, in order."""

    def __init__(self, config: EngineConfig) -> None:
        """Read the pair's manifest and table.

        Raises:
            RegistryError: the pair's files are not what the manifest says.
        """
        model = Path(config.model_dir)
        pair = load_pair(model)
        self._rows = RowEngine(
            table=load_table(pair), codec=codec_for(pair), sharpness=1.0, drafts_first=True
        )
        self._config, self._digest = config, pair.manifest_digest
        self._waiting: deque[SampleRequest] = deque()
        self._asked = 0

    def describe(self) -> EngineDescription:
        """Return what the pair is; a table needs no self-test, and every draft is accepted."""
        own = self._rows.describe()
        return replace(
            own,
            drafter=self._config.drafter,
            spec_k=self._config.spec_k,
            model_id="table-engine",
            model_digest=self._digest,
            self_test=replace(own.self_test, mean_accepted=float(self._config.spec_k)),
        )

    def begin(self, request: SampleRequest) -> None:
        """Take a request."""
        if request.spec_k > self._config.spec_k:
            raise EngineRefusedError(f"look-ahead {request.spec_k} is above {self._config.spec_k}")
        self._waiting.append(request)
        self._asked += request.size

    def step(self) -> dict[str, Samples | str]:
        """Answer the oldest request."""
        request = self._waiting.popleft()
        return {request.request_id: self._rows.sample(request)}

    def abort(self, request_id: str) -> bool:
        """Drop a request."""
        before = len(self._waiting)
        self._waiting = deque(one for one in self._waiting if one.request_id != request_id)
        return len(self._waiting) < before

    @property
    def busy(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)

    def load(self) -> EngineLoad:
        """Return what waits."""
        left = sum(request.size for request in self._waiting)
        return EngineLoad(
            requests=len(self._waiting), tokens_left=left, tokens_done=self._asked - left
        )


def main() -> int:
    """Run the child."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--fd", type=int, required=True)
    arguments.add_argument("--parent", type=int, required=True)
    arguments.add_argument("--nice", type=int, default=0)
    arguments.add_argument("--config", required=True)
    given = arguments.parse_args()
    end_with_parent(given.parent)
    config = config_from(given.config)
    server = EngineServer(socket.socket(fileno=given.fd), build_digest())
    return run(server, lambda: TableEngine(config))


if __name__ == "__main__":
    os._exit(main())
