"""The bundled domains: one folder each, with schema, seed data, policy, tool server and tasks."""
