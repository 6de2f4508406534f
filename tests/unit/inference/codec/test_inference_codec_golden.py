"""Codec v1 gives the same tokens for ever; decoded returns to twelve digits."""

import dataclasses
import json
from collections.abc import Callable

from inference.codec.codec import ReturnCodec
from inference.codec.prompt import prompt_document
from inference.snapshot import Direction, EventType, Strength
from tests.doubles.market_cases import DAY_US, news_at, snapshot_of, walk_closes

PATH = [256, 255, 300, 190, 383, 128, 257, 270, 240, 256]


def test_codec_v1_gives_the_frozen_tokens(golden: Callable[[str, bytes], None]) -> None:
    codec = ReturnCodec()
    calm = snapshot_of(walk_closes(240, seed=1, sd=0.004))
    wild = snapshot_of(walk_closes(70, seed=2, sd=0.05))
    news = (
        news_at(calm.as_of_us - 1, event_type=EventType.MACRO),
        news_at(
            calm.as_of_us - 3 * DAY_US,
            "e2",
            event_type=EventType.ECHO,
            direction=Direction.POSITIVE,
            strength=Strength.WEAK,
        ),
    )
    vectors = []
    for snapshot in (calm, wild, dataclasses.replace(calm, news=news)):
        prompt = codec.encode(snapshot)
        document = prompt_document(prompt)
        scales = {
            name: f"{float.fromhex(document.pop(name)):.12g}"
            for name in ("var_fast", "var_slow", "var_long", "sigma")
        }
        decoded = codec.decode_path(prompt, PATH, bytes(32))
        vectors.append(
            {
                "prompt": document,
                "scales": scales,
                "table_state": codec.table_state(prompt.token_ids),
                "decoded": [f"{value:.12g}" for value in decoded],
            }
        )
    text = json.dumps({"digest": codec.digest, "vectors": vectors}, indent=1, sort_keys=True)
    golden("codec_v1.json", text.encode() + b"\n")
