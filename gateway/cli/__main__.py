"""`python -m gateway.cli` is `countersign`; a Ctrl-C while its modules load ends it quietly."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Load the verbs and run one."""
    try:
        from gateway.cli.main import main as run  # this is what takes its time
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
