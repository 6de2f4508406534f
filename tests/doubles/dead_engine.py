"""An engine that says what it serves and is gone when it is asked."""

from dataclasses import replace

from typing_extensions import override

from inference.engine.port import SampleRequest, Samples
from inference.errors import EngineDeadError
from tests.doubles.memory_desk import TABLE, MemoryDesk
from tests.doubles.row_engine import RowEngine


class DeadEngine(RowEngine):
    """Every forecast of it fails."""

    @override
    def sample(self, request: SampleRequest) -> Samples:
        """Raise that it is gone."""
        raise EngineDeadError("the engine died")


def without_engine(desk: MemoryDesk) -> None:
    """Let a desk's engine answer nothing from now on; forecasts that stand are served."""
    own = desk.small.desk.own
    dead = DeadEngine(table=TABLE, codec=own.tools.codec)
    desk.small.desk.own = replace(own, tools=replace(own.tools, engine=dead))
