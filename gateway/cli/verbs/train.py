"""train: the model pair, through the same code that made the bundled one."""

import subprocess
import sys

import typer


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(train)


def train(context: typer.Context) -> None:
    """Train a model pair (hours); options go to the trainer.

    Example: countersign train -- --help
    """
    # in a process of its own, so that this one never loads torch
    done = subprocess.run([sys.executable, "-m", "inference.training", *context.args], check=False)
    raise typer.Exit(done.returncode)
