"""The chore that holds one direct forecast in fifty against the engine, and records it.

The engine samples the same prompt again, as often as the forecast has paths, and both samples are
compared state by state. What is found is pooled over all checks of a model.

Rules:
- Which forecasts are checked follows from their id, which nobody chooses.
- A check sizes nothing and stops nothing: when the two differ an alarm rings (`sampler_differs`).
- Only a forecast that was made, by the pair that serves, is checked: an attempt may fail after its
  draws, and another pair has another law.
- None is begun while an intent waits, or the engine is away.
"""

from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.desk.desk import Desk
from gateway.walk.journal.control.oversight.sampler import SamplerChecked
from gateway.walk.journal.forecast import ForecastMade, TokensDrawn
from gateway.walk.ports import Tools
from gateway.walk.projections.forecasts import StandingForecast
from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.engine.port import SampleRequest
from inference.errors import CaptureError, EngineError
from inference.forecast.direct import direct_tokens
from inference.speculation.condense import condense
from inference.speculation.evidence_bytes import encode_evidence
from inference.speculation.pooled import counted, pooled
from inference.speculation.seeds import trajectory_seeds

CHECKED_ONE_IN: Final = 50
DIFFERS_BELOW: Final = 1e-6
"""The chance, were the laws the same, below which they are said to differ."""
_ONE_1E6: Final = 1_000_000
_KINDS: Final = (Kind.TOKENS_DRAWN, Kind.FORECAST_MADE, Kind.SAMPLER_CHECKED)


def is_checked(forecast_id: str) -> bool:
    """Return whether a forecast is one of those that are held against the engine."""
    drawn = int.from_bytes(sha256(f"countersign/check/1 {forecast_id}".encode()).digest()[:8])
    return drawn % CHECKED_ONE_IN == 0


@dataclass(slots=True)
class SamplerWatch:
    """Reads on from where it stood; one thread calls `look`, any `differs`."""

    desk: Desk
    _drawn: dict[str, Record] = field(default_factory=dict)
    _due: dict[str, Record] = field(default_factory=dict)
    _seq: int = -1
    _checks: int = 0
    _statistic_1e6: int = 0
    _degrees: int = 0

    def look(self) -> int:
        """Check what is due, and return how many forecasts were.

        Raises:
            audit.errors.AuditError: the ledger does not answer; the next call goes on from there.
        """
        self._read()
        own, made = self.desk.own, 0
        for name, record in list(self._due.items()):
            if self.desk.admission.now().queue:
                break
            found = self._checked(own.tools, name, record)
            if found is None:
                break
            own.tools.ledger.append(found.draft())
            # a crash here leaves a check on record: the next start reads it and makes none
            made += 1
        return made

    def _read(self) -> None:
        own = self.desk.own
        reader, size = own.reader, own.reader.log_size()
        for record in reader.records(kinds=_KINDS, after_seq=self._seq, before_seq=size):
            if record.kind is Kind.SAMPLER_CHECKED:
                self._take(SamplerChecked.of(record), own.tools.model)
                continue
            name = record.stream.removeprefix("forecast/")
            if record.kind is Kind.FORECAST_MADE:
                drawn = self._drawn.pop(name, None)
                if drawn is not None and ForecastMade.of(record).model_digest == own.tools.model:
                    self._due[name] = drawn
            elif is_checked(name.rpartition(".")[0]):
                self._drawn[name] = record
        self._seq = max(self._seq, size - 1)

    def _take(self, said: SamplerChecked, model: str) -> None:
        self._due.pop(said.checked_id, None)
        if said.model_digest == model:
            self._checks += 1
            self._statistic_1e6 += said.statistic_1e6
            self._degrees += said.degrees

    def _checked(self, tools: Tools, name: str, record: Record) -> SamplerChecked | None:
        """Ask the engine for the same; None if it cannot answer now."""
        drawn = TokensDrawn.of(record)
        forecast_id, _, number = name.rpartition(".")
        standing = self.desk.own.section.forecasts.made(forecast_id, int(number))
        prompt = tools.codec.encode(standing.snapshot)
        try:
            samples = tools.engine.sample(_request(tools, name, prompt, drawn, standing))
            kept = encode_evidence(condense(samples.capture, tools.table))
        except (EngineError, CaptureError):
            return None
        own = direct_tokens(
            self.desk.own.reader.blob(drawn.capture_blob) or b"",
            codec=tools.codec,
            prompt=prompt,
            table=tools.table,
        )
        codec, base = tools.codec, tools.codec.table_base(prompt.token_ids)
        first, bins = codec.table_state(prompt.token_ids), _bins(codec)
        after = partial(codec.table_step, base)
        theirs = [path.tokens for path in samples.paths]
        statistic, degrees = pooled(
            counted(own, first, after, bins), counted(theirs, first, after, bins)
        )
        return SamplerChecked(
            model_digest=tools.model,
            checked_id=name,
            of_seq=record.seq,
            of_leaf=record.leaf.hex(),
            capture_blob=tools.ledger.put_blob(kept),
            capture_bytes=len(kept),
            tokens=drawn.paths * drawn.n_tokens,
            statistic_1e6=round(statistic * _ONE_1E6),
            degrees=degrees,
        )

    @property
    def differs(self) -> str:
        """Say that direct forecasts have not the engine's law, or nothing."""
        if not self._degrees:
            return ""
        from scipy.special import chdtrc  # noqa: PLC0415 - a second of a start, for one look

        chance = float(chdtrc(self._degrees, self._statistic_1e6 / _ONE_1E6))
        if chance >= DIFFERS_BELOW:
            return ""
        return f"chance {chance:.1e} over {self._checks} checks: see `sampler/` in the ledger"


def _bins(codec: ReturnCodec) -> range:
    return range(codec.bin_start, codec.bin_start + codec.n_bins)


def _request(
    tools: Tools, name: str, prompt: Prompt, drawn: TokensDrawn, standing: StandingForecast
) -> SampleRequest:
    codec, spec_k = tools.codec, tools.plan.spec_k
    return SampleRequest(
        request_id=f"{name}.check",
        prompt_ids=prompt.token_ids,
        n_tokens=drawn.n_tokens,
        seeds=trajectory_seeds(standing.seed, drawn.paths),
        spec_k=spec_k,
        allowed_range=(_bins(codec).start, _bins(codec).stop),
        deadline_s=tools.plan.deadline_s,
        draft_first=spec_k > 0,
    )
