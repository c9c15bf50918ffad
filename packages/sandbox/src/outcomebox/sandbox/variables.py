"""The environment variables through which a session reaches a domain's tool server."""

DATABASE_VARIABLE = "OUTCOMEBOX_DATABASE"
NOW_VARIABLE = "OUTCOMEBOX_NOW"
SEED_VARIABLE = "OUTCOMEBOX_SEED"
