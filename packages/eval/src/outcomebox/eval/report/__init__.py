"""A run's figures as a report: one page, Markdown, CSV, JSON and LaTeX.

::

    run = Run("my model", results, summarize(results))
    write_report([run], Path("reports/my-model"))
"""

from outcomebox.eval.report.run import Run
from outcomebox.eval.report.writing import FORMATS, Written, report_json, write_report

__all__ = ["FORMATS", "Run", "Written", "report_json", "write_report"]
