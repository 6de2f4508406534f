"""models: pin a folder of Hugging Face models, so that it can forecast."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="models",
        help="Pin a folder of Hugging Face instruct models by the digest of every file.",
        no_args_is_help=True,
    )
    group.command()(pin)
    app.add_typer(group)


def pin(
    folder: Annotated[
        Path, typer.Argument(help="holds target/ and, where there is one, draft/", exists=True)
    ],
    trained_until: Annotated[
        datetime,
        typer.Option(
            formats=["%Y-%m-%d"], help="last day of the target's training data, by its maker"
        ),
    ],
) -> None:
    """Check a folder of safetensors models and write its manifest; nothing is downloaded.

    target/ has config.json, tokenizer.json, *.safetensors and a chat template; draft/ has a smaller
    model of the same vocabulary. Pickles, scripts and configurations that ask for remote code are
    refused. COUNTERSIGN_ENGINE__MODEL=FOLDER then forecasts with it.

    Example: countersign models pin models/tiny --trained-until 2024-12-31
    """
    from inference.weights.text_pair import pin as pinned

    pair = pinned(folder, trained_until.date())
    drafter = "network or table" if pair.has_draft else "table"
    typer.echo(f"{pair.model_id}  {pair.manifest_digest}")
    typer.echo(f"codec {pair.codec_digest}, {len(pair.files)} files, drafter {drafter}")
    typer.echo(f"use it: COUNTERSIGN_ENGINE__MODEL={folder}")
