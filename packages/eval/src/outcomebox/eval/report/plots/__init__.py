"""The report's pictures, as SVG: plain values in, markup out; the same values, the same bytes."""

from outcomebox.eval.report.plots.cost import Priced, cost_plot
from outcomebox.eval.report.plots.coverage import Both, coverage_plot
from outcomebox.eval.report.plots.curves import Curve, curves_plot
from outcomebox.eval.report.plots.deltas import Delta, deltas_plot
from outcomebox.eval.report.plots.paired import Pair, paired_plot
from outcomebox.eval.report.plots.passes import passes_plot
from outcomebox.eval.report.plots.svg import Picture

__all__ = [
    "Both",
    "Curve",
    "Delta",
    "Pair",
    "Picture",
    "Priced",
    "cost_plot",
    "coverage_plot",
    "curves_plot",
    "deltas_plot",
    "paired_plot",
    "passes_plot",
]
