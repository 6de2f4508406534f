"""`python -m gateway.cli` is `countersign`; Ctrl-C while its modules load ends it quietly."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Load the verbs and run one."""
    try:
        from gateway.cli.main import main as run  # loading takes most of the time
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
