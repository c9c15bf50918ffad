"""Expectations derived from golden replays, for a person to review."""
