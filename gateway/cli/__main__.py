"""`python -m gateway.cli` is `countersign`."""

from gateway.cli.main import main

main()
