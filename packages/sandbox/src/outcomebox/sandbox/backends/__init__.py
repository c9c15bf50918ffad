"""Where sessions keep their rows: :mod:`.base` says what a backend is, the others are backends."""
