"""The tags of a task or a scenario.

Files write them as one flat list, ``[domain:retail, category:user, skip, anything]``. The values
of ``domain:``, ``eval:`` and ``category:`` are whatever the dataset says: which ones there are is
the taxonomy of whoever keeps the dataset, not a part of the format.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Tags(BaseModel):
    """Tags, sorted out.

    Attributes:
        labels: Free labels, in order.
        category: Values of ``category:``, in order.
        domain: Value of the last ``domain:``.
        eval_type: Value of the last ``eval:``.
        skip: Whether the task is to be left out where it is not asked for by name.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    labels: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    domain: str | None = None
    eval_type: str | None = None
    skip: bool = False

    @model_validator(mode="before")
    @classmethod
    def _from_flat(cls, value: Any) -> Any:
        if isinstance(value, dict | Tags):
            return value
        if not isinstance(value, list):
            message = "must be a list of tags; take the key out if there are none"
            raise ValueError(message)  # noqa: TRY004 -- pydantic collects these
        found: dict[str, Any] = {"labels": [], "category": []}
        for tag in value:
            if not isinstance(tag, str):
                message = f"a tag is text, not {tag!r}; put it in quotes"
                raise ValueError(message)  # noqa: TRY004 -- pydantic collects these
            kind, colon, rest = tag.lower().partition(":")
            if colon and kind == "category":
                found["category"].append(rest)
            elif colon and kind in {"domain", "eval"}:
                found["domain" if kind == "domain" else "eval_type"] = rest
            elif tag.lower() == "skip":
                found["skip"] = True
            else:
                found["labels"].append(tag)
        return found

    def under(self, scenario: Tags) -> Tags:
        """These tags of a task together with those of its scenario.

        Labels: the scenario's, then the task's. Domain and evaluation type: the task's, else the
        scenario's. Categories: the task's alone. Skip: either's.
        """
        return Tags(
            labels=scenario.labels + self.labels,
            category=self.category,
            domain=self.domain or scenario.domain,
            eval_type=self.eval_type or scenario.eval_type,
            skip=scenario.skip or self.skip,
        )
