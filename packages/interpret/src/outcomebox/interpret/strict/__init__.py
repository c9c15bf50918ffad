"""The `strict` profile: our own reading, meant to be right rather than like somebody's engine."""
