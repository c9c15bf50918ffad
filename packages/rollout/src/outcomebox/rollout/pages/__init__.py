"""A run as an HTML page that needs no network."""

from outcomebox.rollout.pages.writing import INLINE, Page, write_page

__all__ = ["INLINE", "Page", "write_page"]
