"""Sessions on PostgreSQL: :class:`.backend.PostgresqlBackend` by the address of a server.

Needs the extra ``postgresql`` (psycopg); nothing of it is imported before a session wants it.
"""
