"""From settings to a run that has started: what is written, and what is called."""
