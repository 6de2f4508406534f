"""A folder of tiny Hugging Face models with random weights: a target, a draft, one tokenizer.

Llama, head size 32, a byte-level BPE tokenizer with a few merges and two control tokens, and a
chat template in the common form. Its forecasts mean nothing; its files are those of a real folder.
"""

import json
import shutil
from pathlib import Path
from typing import Final

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

CONTROL: Final = ("<|im_start|>", "<|im_end|>")
CHAT: Final = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TEXTS: Final = ("the last bar closed on a Monday", 'a value of "+037","-112" is a return', "News")


def text_folder(folder: Path, *, draft: bool = True) -> Path:
    """Write target and, where asked for, draft into a new folder, unpinned; return it."""
    tokenizer = tiny_tokenizer()
    _model(folder / "target", tokenizer, layers=2, seed=1)
    if draft:
        _model(folder / "draft", tokenizer, layers=1, seed=2)
        # A draft that is the target's first layer agrees with it more than chance.
        _share(folder)
    return folder


def tiny_tokenizer() -> Tokenizer:
    """Return a byte-level BPE tokenizer of 320 ids with two control tokens."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=318, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    found.train_from_iterator(_TEXTS, trainer)
    found.add_special_tokens([AddedToken(text, special=True) for text in CONTROL])
    return found


def settings(**more: object) -> str:
    """Return the text of a tokenizer_config.json."""
    return json.dumps({"chat_template": CHAT, "eos_token": "<|im_end|>", **more})


def _model(folder: Path, tokenizer: Tokenizer, *, layers: int, seed: int) -> None:
    import torch  # noqa: PLC0415 - six seconds, which every worker would spend on collecting tests
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415 - as above

    config = LlamaConfig(
        vocab_size=320,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=2048,
        initializer_range=0.2,
    )
    torch.manual_seed(seed)
    LlamaForCausalLM(config).save_pretrained(folder, safe_serialization=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(settings())
    shutil.rmtree(folder / ".cache", ignore_errors=True)


def _share(folder: Path) -> None:
    from transformers import LlamaForCausalLM  # noqa: PLC0415 - as in `_model`

    target = LlamaForCausalLM.from_pretrained(folder / "target")
    draft = LlamaForCausalLM.from_pretrained(folder / "draft")
    own = draft.state_dict()
    own.update({name: one for name, one in target.state_dict().items() if name in own})
    draft.load_state_dict(own)
    draft.save_pretrained(folder / "draft", safe_serialization=True)
