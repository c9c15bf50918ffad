"""The command line of the package: `outcomebox-reward`."""
