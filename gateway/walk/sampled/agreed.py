"""An engine that samples only once it is on record which build and model it agreed on.

Not here: the comparison (`gateway.installation.children.child`), the record's contents.
"""

from collections.abc import Callable, Mapping
from threading import Lock

from typing_extensions import override

from audit.records.record import Draft
from gateway.walk.ports import LedgerPort
from inference.engine.port import Engine, EngineDescription, SampleRequest, Samples
from inference.errors import EngineError


class AgreedEngine(Engine):
    """Records what the engine child and the gateway agreed on, before the first sample.

    Durability: the record is committed before the child is asked. Threads: as the engine's.
    """

    def __init__(
        self,
        engine: Engine,
        agreed: Callable[[], Mapping[str, str]],
        ledger: LedgerPort,
        record: Callable[[Mapping[str, str]], Draft],
    ) -> None:
        """Take the engine and how to record; `agreed` is empty while the child serves nothing."""
        self._engine = engine
        self._agreed = agreed
        self._ledger = ledger
        self._record = record
        self._lock = Lock()
        self._on_record: dict[str, str] = {}

    def record(self) -> None:
        """Record what is agreed on now, unless it is on record; nothing without an agreement.

        Raises:
            audit.errors.AuditError: the ledger does not take it; nothing was sampled.
        """
        with self._lock:
            agreed = dict(self._agreed())
            if agreed and agreed != self._on_record:
                self._ledger.append(self._record(agreed))
                self._on_record = agreed

    @override
    def sample(self, request: SampleRequest) -> Samples:
        self.record()
        return self._engine.sample(request)

    @override
    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        self.record()
        return self._engine.sample_beside(request, twin)

    @override
    def describe(self) -> EngineDescription:
        return self._engine.describe()
