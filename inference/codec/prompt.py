"""Token ids for the engine, and the scale that turns its answer into returns.

The ledger commits to a prompt's digest before inference runs.

Not here: how ids are made (`codec.py`).
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Token ids and the codec's state after the last bar.

    Variances and sigma are hex floats (`float.hex`): exact, and allowed in the ledger.
    """

    token_ids: tuple[int, ...]
    template: str
    codec_digest: str
    var_fast: str
    var_slow: str
    var_long: str
    sigma: str


def prompt_document(prompt: Prompt) -> dict[str, Any]:
    """Return the prompt as JSON values without floats."""
    return {**asdict(prompt), "token_ids": list(prompt.token_ids)}


def prompt_digest(prompt: Prompt) -> str:
    """Return the SHA-256, hex, of the canonical document.

    Keys are sorted and every value is ASCII text or an integer, so this form is RFC 8785 too.
    """
    text = json.dumps(prompt_document(prompt), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
