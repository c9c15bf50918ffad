"""The files of a run: index, merging, checking, and other forms of the rows."""
