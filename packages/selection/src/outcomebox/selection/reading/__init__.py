"""Reads the facts that decide a selection out of files of rows, whatever their form."""
