"""A throw-away PostgreSQL server: ``python3 -m tools.postgresql --help``."""

from tools.postgresql.cli import main

if __name__ == "__main__":
    main()
