"""Token ids for the engine, and the scale that turns its answer into returns.

The ledger commits to a prompt's digest before inference runs.

Not here: how ids are made (`codec.py`).
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from inference.scale.moving import MovingScale


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Token ids and the codec's state after the last bar.

    Variances and sigma are hex floats (`float.hex`): exact, and allowed in the ledger. Codec 1 has
    its state in `var_fast`, `var_slow` and `var_long`, codec 2 in `scale`, and a text codec in one
    of the two. Only a text codec has a text.
    """

    token_ids: tuple[int, ...]
    template: str
    codec_digest: str
    sigma: str
    var_fast: str = ""
    var_slow: str = ""
    var_long: str = ""
    scale: MovingScale | None = None
    text: str = ""


_CODEC_1: Final = ("var_fast", "var_slow", "var_long")


def prompt_document(prompt: Prompt) -> dict[str, Any]:
    """Return the prompt as JSON values without floats; the state of its own codec only."""
    document: dict[str, Any] = {
        "token_ids": list(prompt.token_ids),
        "template": prompt.template,
        "codec_digest": prompt.codec_digest,
        "sigma": prompt.sigma,
        **({"text": prompt.text} if prompt.text else {}),
    }
    scale = prompt.scale
    if scale is None:
        return {**document, **{name: getattr(prompt, name) for name in _CODEC_1}}
    names = ("garch", "gjr", "long", "fall")
    state: dict[str, Any] = {name: getattr(scale, name).hex() for name in names}
    if scale.ranges:
        state["ranges"] = [value.hex() for value in scale.ranges]
    if scale.fit.season is not None:
        state["hour"] = scale.hour
    return {**document, "scale": {"fit": scale.fit.digest, **state}}


def prompt_digest(prompt: Prompt) -> str:
    """Return the SHA-256, hex, of the canonical document.

    Keys are sorted ASCII and every value is text or an integer, so this form is RFC 8785 too.
    """
    text = json.dumps(
        prompt_document(prompt), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(text.encode()).hexdigest()
