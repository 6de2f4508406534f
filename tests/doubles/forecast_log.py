"""A small log of forecasts and of decisions that name them, made by the rules or against them."""

from base64 import b32encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from audit.records.canonical import JSON, canonical
from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.tlog.checkpoint import Checkpoint
from gateway.walk.journal.forecast import seeds_digest
from inference.codec.vocabulary import N_SLOTS, NO_NEWS
from inference.forecast.joint import joint_seed
from inference.speculation.seeds import decision_seed, prompt_label, trajectory_seeds
from tests.doubles.audit_log import RUN, TIME_US, MemoryLog, sealed, started

Body = dict[str, Any]
Change = Callable[[Draft], Draft]
CAPTURE = b"capture"
ROUNDS: Body = {
    "rounds": 1,
    "drafted": 0,
    "accepted": 0,
    "positions": 1,
    "capture_blob": sha256(CAPTURE).hexdigest(),
    "elapsed_us": 1,
}
MODEL, TABLE, CODEC = "a" * 64, "b" * 64, "c" * 64
WORDLESS = (7, *NO_NEWS * N_SLOTS, 1, 2, 3)
PROMPT_IDS: list[JSON] = [*WORDLESS]
PROMPT = sha256(canonical({"token_ids": PROMPT_IDS})).hexdigest()


def as_it_is(draft: Draft) -> Draft:
    """Change nothing."""
    return draft


def inputs_of(instrument: str, *, secure: bool = False) -> Body:
    """Return what the forecast of an instrument rests on; a secure one is another."""
    return {
        "instrument": instrument,
        "snapshot": sha256(instrument.encode()).hexdigest(),
        "prompt": PROMPT,
        "codec": CODEC,
        "model": MODEL,
        "table": TABLE,
        "terms": None,
        "secure": secure,
    }


def id_of(inputs: Mapping[str, JSON]) -> str:
    """Return the id of the forecast of some inputs."""
    return b32encode(sha256(canonical({**inputs})).digest()).decode()[:26]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An attempt at a forecast, as a decision names it."""

    instrument: str
    number: int
    seq: int | None
    leaf: str
    missing: str
    secure: bool = False
    direct: bool = False

    @property
    def forecast_id(self) -> str:
        """The forecast's id."""
        return id_of(inputs_of(self.instrument, secure=self.secure))

    @property
    def stream(self) -> str:
        """The attempt's stream."""
        return f"forecast/{self.forecast_id}.{self.number}"


@dataclass(slots=True)
class ForecastLog(MemoryLog):
    """A log in memory that begins with a run and a checkpoint.

    `change` edits every draft; `unlisted` are the events of which an index has no line.
    """

    change: Change = as_it_is
    unlisted: frozenset[str] = frozenset()
    _roots: dict[str, Checkpoint] = field(default_factory=dict)

    def begin(self) -> "ForecastLog":
        """Begin with a run, under a checkpoint."""
        self.append(started())
        self.checkpoint()
        return self

    def attempt(
        self,
        number: int = 0,
        outcome: str = "made",
        *,
        instrument: str = "SPXN",
        source: str = "target",
        secure: bool = False,
        direct: bool = False,
    ) -> Made:
        """Make an attempt at a forecast; the table's own follows a failure."""
        made = Made(
            instrument=instrument,
            number=number,
            seq=None,
            leaf="",
            missing="",
            secure=secure,
            direct=direct,
        )
        blob = instrument.encode()
        self.blobs[sha256(blob).digest()] = blob
        self.blobs[sha256(CAPTURE).digest()] = CAPTURE
        root = self._roots.setdefault(instrument, self.checkpoints[-1])
        failed = outcome == "failed" or source == "table"
        self._add(made, Kind.SNAPSHOT_TAKEN, _opening(made))
        self._add(made, Kind.FORECAST_REQUESTED, _request(made, root))
        if failed:
            self._add(made, Kind.FORECAST_FAILED, {"reason": "engine_dead", "detail": ""})
        elif outcome == "made":
            kind = Kind.TOKENS_DRAWN if direct else Kind.ROUNDS_CAPTURED
            self._add(made, kind, _drawn(made, root) if direct else ROUNDS)
        if outcome == "made":
            forecast = {"instrument": instrument, "source": source, "codec_digest": CODEC}
            forecast["model_digest"] = TABLE if source == "table" else MODEL
            self._add(made, Kind.FORECAST_MADE, {"forecast": forecast})
            made = replace(made, seq=self.rows[-1]["seq"], leaf=bytes(self.rows[-1]["leaf"]).hex())
        elif failed:
            made = replace(made, missing="engine_dead")
        self._add(made, Kind.FORECAST_SEALED, {"instrument": instrument, "outcome": outcome})
        return made

    def decide(self, decision: str, made: Made) -> None:
        """Let a decision name an attempt; it ends at once."""
        self.take(decision, made)
        self.append(sealed(decision))

    def take(self, decision: str, made: Made) -> None:
        """Let a decision name an attempt."""
        stream = f"decision/{decision}"
        self.append(self._drafted(stream, Kind.FORECAST_TAKEN, _taken(decision, made)))

    def decide_jointly(
        self,
        decision: str,
        own: Made,
        *others: Made,
        joint: Mapping[str, JSON] | None = None,
        taken: bool = False,
    ) -> None:
        """Let a decision rest on the joint paths of its own forecast and others; it ends at once.

        `joint` are changes of what it says of the set; `taken` says that it has taken its own.
        """
        stream = f"decision/{decision}"
        if not taken:
            self.take(decision, own)
        named = self.join(own, *others)
        paths: Body = {"digest": "e" * 64, "n_paths": 8, "joint": {**named, **(joint or {})}}
        proposed: Body = {**RUN, "decision_id": decision, "intent": None, "intent_digest": None}
        self.append(
            self._drafted(stream, Kind.INTENT_PROPOSED, {**proposed, "paths": paths}),
            sealed(decision),
        )

    def join(self, *members: Made, kinds: Sequence[str] = ()) -> Body:
        """Put a set of joint paths on record; return how decisions name it.

        `kinds` are whose paths they are, of each in the set's order; the targets' without.
        """
        ordered = sorted(members, key=lambda one: one.instrument)
        rows = [
            {
                "instrument": one.instrument,
                "forecast_id": one.forecast_id,
                "attempt": one.number,
                "of_seq": one.seq,
                "of_leaf": one.leaf,
                "paths": paths,
            }
            for one, paths in zip(ordered, kinds or ["forecast_made"] * len(ordered), strict=True)
        ]
        ids: list[JSON] = [
            [one["instrument"], one["forecast_id"], one["attempt"], one["paths"]] for one in rows
        ]
        name = id_of({"members": ids, "rule": "rule/1", "without_bp": 9_000})
        seeds = [
            decision_seed(self._roots[one.instrument].root, prompt_label(WORDLESS), one.number)
            for one in ordered
        ]
        payload: Body = {
            "mode": RUN["mode"],
            "joint_id": name,
            "members": rows,
            "rule": "rule/1",
            "keep_bp": 9_850,
            "without_bp": 9_000,
            "shrunk_bp": 0,
            "correlation_1e6": [0] * (len(rows) * (len(rows) - 1) // 2),
            "seed": joint_seed(seeds).hex(),
            "n_paths": 8,
            "digest": "e" * 64,
        }
        self.append(self._drafted(f"joint/{name}", Kind.PATHS_JOINED, payload))
        row = self.rows[-1]
        return {"joint_id": name, "of_seq": row["seq"], "of_leaf": bytes(row["leaf"]).hex()}

    def _add(self, made: Made, kind: Kind, payload: Body) -> None:
        numbered: Body = {"attempt": made.number, "mode": RUN["mode"], **payload}
        if kind is Kind.FORECAST_SEALED:
            del numbered["attempt"]
        drafts = [self._drafted(made.stream, kind, numbered)]
        if kind in {Kind.SNAPSHOT_TAKEN, Kind.FORECAST_SEALED}:
            event = str(payload.get("outcome", "opened"))
            drafts += [self._line(made, event, 0)] if event not in self.unlisted else []
        self.append(*drafts)

    def again(self, made: Made, times: int = 1) -> None:
        """Let an earlier forecast stand again."""
        self.append(self._line(made, "again", times))

    def _line(self, made: Made, event: str, times: int) -> Draft:
        payload: Body = {
            "mode": RUN["mode"],
            "instrument": made.instrument,
            "event": event,
            "forecast_id": made.forecast_id,
            "attempt": made.number,
            "again": times,
        }
        return self._drafted(f"instrument/{made.instrument}", Kind.FORECAST_LISTED, payload)

    def _drafted(self, stream: str, kind: Kind, payload: Body) -> Draft:
        return self.change(
            Draft(
                stream=stream,
                kind=kind,
                payload=payload,
                actor="gateway",
                idem_key=f"{kind}:{len(self.rows)}",
            )
        )


def _taken(decision: str, made: Made) -> Body:
    return {
        **RUN,
        "decision_id": decision,
        "attempt": 0,
        "instrument": made.instrument,
        "forecast_id": made.forecast_id,
        "forecast_attempt": made.number,
        "of_seq": made.seq,
        "of_leaf": made.leaf,
        "missing": made.missing,
    }


def _opening(made: Made) -> Body:
    inputs, instrument = inputs_of(made.instrument, secure=made.secure), made.instrument
    return {
        "forecast_id": id_of(inputs),
        "instrument": instrument,
        "as_of_us": TIME_US,
        "snapshot_blob": inputs["snapshot"],
        "bars_digest": "0" * 64,
        "news_digest": "1" * 64,
        "n_bars": 1,
        "n_news": 0,
        "inputs": inputs,
        "run_id": RUN["run_id"],
        "dev": RUN["dev"],
    }


def _request(made: Made, root: Checkpoint) -> Body:
    seed = _seed(made, root)
    return {
        "prompt": {"token_ids": PROMPT_IDS},
        "prompt_ids": PROMPT_IDS,
        "prompt_digest": PROMPT,
        "codec_digest": CODEC,
        "template": "",
        "seed_rule": 3,
        "seed_root": root.root.hex(),
        "seed_size": root.size,
        "sampler": "direct" if made.direct else "engine",
        "paths": 4,
        "seeds_digest": "" if made.direct else seeds_digest(trajectory_seeds(seed, 4)),
        "n_tokens": 1,
        "spec_k": 0,
        "drafter": "none",
        "news_twin": "no_news",
        "deadline_ms": 1,
    }


def _drawn(made: Made, root: Checkpoint) -> Body:
    return {
        "rule": "direct-1",
        "seed": _seed(made, root).hex(),
        "table_digest": TABLE,
        "paths": 4,
        "n_tokens": 1,
        "states": 1,
        "capture_blob": sha256(CAPTURE).hexdigest(),
        "capture_bytes": 0,
    }


def _seed(made: Made, root: Checkpoint) -> bytes:
    return decision_seed(root.root, prompt_label(WORDLESS), made.number)
