"""Fixtures of the checks in this folder."""

import contextlib

MARKS = []


class Box:
    def __init__(self, size: int = 1):
        self.size = size


def made_of(box: Box, judge, x, note: str = "none"):
    return {"box": box, "judge": judge, "x": x, "note": note}


@contextlib.contextmanager
def opened(x):
    x.metadata["events"] = ["enter"]
    try:
        yield x.metadata["events"]
    finally:
        x.metadata["events"].append("exit")


@contextlib.contextmanager
def inner(outer_events):
    outer_events.append("inner enter")
    yield outer_events
    outer_events.append("inner exit")


@contextlib.contextmanager
def swallowing():
    with contextlib.suppress(AssertionError):
        yield


class FailsOnExit:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        raise AssertionError("what was left behind is wrong")


def needs_b(fixture_b):
    return fixture_b


def needs_a(fixture_a):
    return fixture_a


def needs_nobody_knows(nobody_knows):
    return nobody_knows


def asserts():
    raise AssertionError("not a verdict: the fixture was never made")


def keyword(*, box):
    return box


NOT_CALLABLE = 3
