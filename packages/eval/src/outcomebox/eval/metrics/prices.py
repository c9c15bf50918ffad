"""Prices of models on one day: a file with a name, a date, a currency and a price a model and role.

The form, YAML or JSON::

    name: list prices
    date: 2026-08-17
    currency: USD
    prices:                      # per million tokens
      - {model: my-model, input: 3.0, cached: 0.3, output: 15.0}
      - {model: my-model, role: user, input: 1.5, cached: 0.15, output: 7.5}
    lines:                       # optional: what else was spent, shown beside the campaign
      - {name: training, amount: 412.5, note: 50 steps on 8 GPUs}

A price with a ``role`` (``policy``, ``user``, ``judge``) holds for that role alone, one without for
every role that has none of its own. ``cached`` is the price of input tokens that were read from a
cache; where a model has no such discount it equals ``input``. A model that is not listed has no
price: what it cost is unknown, never 0.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from outcomebox.sandbox._yaml import load_yaml
from outcomebox.sandbox.errors import InputError, input_error

Role = Literal["policy", "user", "judge"]
Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def _day(value: object) -> dt.date:
    if isinstance(value, dt.date):
        return value
    if isinstance(value, str):
        try:
            return dt.datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
        except ValueError:
            pass
    raise ValueError("is no day; write it as 2026-08-17")


Day = Annotated[dt.date, BeforeValidator(_day)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(_Form):
    """What a million tokens of a model cost.

    Attributes:
        model: Its name, as rows have it.
        role: The role that the price holds for; None for every role without one of its own.
        input: Price of input tokens that were not read from a cache.
        cached: Price of input tokens that were.
        output: Price of output tokens, reasoning among them.
    """

    model: Name
    role: Role | None = None
    input: Amount
    cached: Amount
    output: Amount


class Line(_Form):
    """Money that was spent on something else than the campaign.

    Attributes:
        name: On what, for example ``training``.
        amount: How much, in the currency of the prices.
        note: What is behind it.
    """

    name: Name
    amount: Amount
    note: str | None = None


class Prices(_Form):
    """A dated list of prices.

    Attributes:
        name: What the list is called.
        date: The day it holds for.
        currency: Three letters.
        prices: One a model and role.
        lines: What else was spent.
        sha256: Of the file's bytes; None for one made in a program.
    """

    name: Name
    date: Day
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    prices: tuple[Price, ...] = Field(min_length=1)
    lines: tuple[Line, ...] = ()
    sha256: str | None = Field(default=None, exclude=True)

    @property
    def label(self) -> str:
        """How a report names it."""
        return f"{self.name}, {self.date.isoformat()}, {self.currency}"

    def price(self, model: str | None, role: str) -> Price | None:
        """The price of a model in a role; None where the list has none."""
        found: dict[str | None, Price] = {
            each.role: each for each in self.prices if each.model == model
        }
        return found.get(role, found.get(None))


def load_prices(file: Path) -> Prices:
    """Read a price file.

    Raises:
        InputError: It cannot be read or is not as it must be; the message names file, field, value
            and mend.
    """
    data = load_yaml(file)
    if not isinstance(data, dict):
        raise InputError(
            "holds no price list: it takes the keys name, date, currency and prices",
            file=file,
            value=data,
        )
    if "sha256" in data:
        raise InputError("unknown field; take it out", file=file, field="sha256")
    try:
        prices = Prices.model_validate(data)
    except ValidationError as error:
        raise input_error(error, file=file, data=data) from error
    _check_unique(prices, file)
    return prices.model_copy(update={"sha256": hashlib.sha256(file.read_bytes()).hexdigest()})


def same_snapshot(bases: Mapping[str, str | None]) -> None:
    """See that figures of cost were made under the same prices, so that they may be compared.

    Args:
        bases: What is compared -> the price list behind its figures (:attr:`Prices.label`, or what
            else :attr:`~.cost.Cost.basis` says); None where nothing is known of its cost.

    Raises:
        InputError: They were not.
    """
    known = {name: basis for name, basis in bases.items() if basis is not None}
    if len(set(known.values())) > 1:
        told = "; ".join(f"{name}: {basis}" for name, basis in known.items())
        raise InputError(
            f"costs under different prices are not compared ({told}); price all runs under one "
            "list with --prices"
        )


def _check_unique(prices: Prices, file: Path) -> None:
    for field, keys in (
        ("prices", [(each.model, each.role) for each in prices.prices]),
        ("lines", [(each.name,) for each in prices.lines]),
    ):
        twice = _first_twice(keys)
        if twice is not None:
            shown = ", ".join(part or "any role" for part in twice)
            raise InputError(f"{shown} stands twice; keep one", file=file, field=field)


def _first_twice(keys: Iterable[tuple[str | None, ...]]) -> tuple[str | None, ...] | None:
    seen: set[tuple[str | None, ...]] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None
