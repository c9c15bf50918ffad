"""Reports as HTML pages: one file each, which needs no network.

::

    lint_page(report.to_json())         # what a linter found
    regrade_page(report.to_json())      # which verdicts moved
"""

from outcomebox.reward.pages.lint import lint_page
from outcomebox.reward.pages.regrade import regrade_page

__all__ = ["lint_page", "regrade_page"]
