"""What verl saves: looked at, and merged into a model that others load."""
