"""Releases packages: ``python3 -m tools.release --help``."""

from tools.release.cli import main

if __name__ == "__main__":
    main()
