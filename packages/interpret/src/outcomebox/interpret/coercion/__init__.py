"""Reads a value's text by a tool's JSON Schema, with nothing lost."""
