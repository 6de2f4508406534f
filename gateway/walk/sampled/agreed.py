"""An engine that samples only once it is on record which build and model it agreed on.

Not here: the comparison (`gateway.installation.children.child`), the record's contents.
"""

from collections.abc import Callable, Mapping
from threading import Lock

from typing_extensions import override

from audit.records.record import Draft
from gateway.walk.ports import LedgerPort
from inference.engine.port import Engine, EngineDescription, SampleRequest, Samples
from inference.errors import EngineDeadError, EngineError, EngineRefusedError


class AgreedEngine(Engine):
    """Records what the engine child and the gateway agreed on, before the first sample.

    Durability: the record is committed before the child is asked. Threads: as the engine's.
    Errors: while nothing is agreed on, a request is not handed to the child, because one that gets
    ready meanwhile would sample without a record. The error is the one that it would have raised.
    """

    def __init__(
        self,
        engine: Engine,
        agreed: Callable[[], Mapping[str, str]],
        ledger: LedgerPort,
        record: Callable[[Mapping[str, str]], Draft],
        refusal: Callable[[], str],
    ) -> None:
        """Take the engine and how to record; `agreed` is empty while the child serves nothing.

        `refusal` says why the child will never serve; it is empty while it may.
        """
        self._engine = engine
        self._agreed = agreed
        self._ledger = ledger
        self._record = record
        self._refusal = refusal
        self._lock = Lock()
        self._on_record: dict[str, str] = {}

    def record(self) -> bool:
        """Record what is agreed on now, unless it is on record; return whether anything is.

        Raises:
            audit.errors.AuditError: the ledger does not take it; nothing was sampled.
        """
        with self._lock:
            agreed = dict(self._agreed())
            if agreed and agreed != self._on_record:
                self._ledger.append(self._record(agreed))
                self._on_record = agreed
            return bool(agreed)

    @override
    def sample(self, request: SampleRequest) -> Samples:
        self._require_agreement()
        return self._engine.sample(request)

    @override
    def sample_beside(
        self, request: SampleRequest, twin: SampleRequest
    ) -> tuple[Samples, Samples | EngineError]:
        self._require_agreement()
        return self._engine.sample_beside(request, twin)

    @override
    def describe(self) -> EngineDescription:
        return self._engine.describe()

    def _require_agreement(self) -> None:
        if self.record():
            return
        if why := self._refusal():
            raise EngineRefusedError(why)
        self.describe()  # raises if the engine is down or has failed
        raise EngineDeadError("no engine child has agreed on build and model yet: ask again")
