"""Schemas of collections: which fields there are, and whether a document fits them.

Vector fields are accepted and not used. One that names the fields it is made from (``embed.from``)
stands for those fields in a query, since ranking by their text is the nearest thing done here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from outcomebox.sandbox.search.refusal import bad_request, unsupported

_BASE_TYPES = frozenset({"string", "int32", "int64", "float", "bool"})
# Kept and given back as they came; nothing can be searched, filtered or sorted by them.
_OPAQUE_TYPES = frozenset({"object", "object[]", "geopoint", "geopoint[]", "geopolygon", "image"})
_INT_BITS = {"int32": 32, "int64": 64}
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field.

    Attributes:
        name: Its key in a document.
        type: Typesense's name of its type; ``[]`` at the end means a list.
        optional: Whether a document may lack it.
        facet: Whether results may be grouped by it.
        vector: Whether it holds an embedding.
        embed_from: Fields that the embedding would be made from.
        declared: The declaration, completed by the defaults, as it is shown.
    """

    name: str
    type: str
    optional: bool
    facet: bool
    vector: bool
    embed_from: tuple[str, ...]
    declared: Mapping[str, Any]

    @property
    def base_type(self) -> str:
        """The type of one value."""
        return self.type.removesuffix("[]")

    @property
    def is_list(self) -> bool:
        """Whether a document holds a list of values."""
        return self.type.endswith("[]")

    @property
    def is_text(self) -> bool:
        """Whether words can be looked for in it."""
        return self.base_type == "string"


@dataclass(frozen=True, slots=True)
class Schema:
    """Name and fields of one collection."""

    name: str
    fields: Mapping[str, Field]
    default_sorting_field: str
    metadata: object = None

    def as_json(self) -> dict[str, Any]:
        """The schema in the form in which Typesense shows one."""
        shown = {
            "name": self.name,
            "default_sorting_field": self.default_sorting_field,
            "enable_nested_fields": False,
            "fields": [dict(field.declared) for field in self.fields.values()],
            "symbols_to_index": [],
            "token_separators": [],
        }
        return shown if self.metadata is None else shown | {"metadata": self.metadata}

    def fit(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The document with each declared field of the declared type.

        Raises:
            SearchRefused: A field is missing or cannot be read as its type.
        """
        fitted = dict(document)
        for field in self.fields.values():
            value = document.get(field.name)
            if field.vector or field.type in _OPAQUE_TYPES:
                continue
            if value is None:
                if not field.optional:
                    raise bad_request(
                        f"Field `{field.name}` has been declared in the schema, "
                        "but is not found in the document."
                    )
                fitted.pop(field.name, None)
                continue
            fitted[field.name] = _value(field, value)
        return fitted


def read_schema(body: object) -> Schema:
    """Read the body of a request that creates a collection.

    Raises:
        SearchRefused: It is not a schema, or one that needs what is not done here.
    """
    if not isinstance(body, Mapping):
        raise bad_request("The schema must be a JSON object.")
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise bad_request("Parameter `name` is required and must be a string.")
    declared = body.get("fields")
    if not isinstance(declared, list) or not declared:
        raise bad_request("The `fields` value should be an array of at least one field.")
    if body.get("enable_nested_fields"):
        raise unsupported("`enable_nested_fields`")
    fields: dict[str, Field] = {}
    for item in declared:
        field = _field(item)
        if field.name in fields:
            raise bad_request(f"There are two fields named `{field.name}`.")
        # Every document has an id, declared or not, and it is no text to be searched.
        if field.name != "id":
            fields[field.name] = field
    for field in fields.values():
        for source in field.embed_from:
            if source not in fields or not fields[source].is_text:
                raise bad_request(
                    f"Field `{field.name}` embeds `{source}`, which is not a string field."
                )
    sorting = body.get("default_sorting_field") or ""
    if sorting and (
        sorting not in fields or fields[sorting].type not in {"int32", "int64", "float"}
    ):
        raise bad_request(f"Default sorting field `{sorting}` must be a declared number.")
    return Schema(name, fields, sorting, body.get("metadata"))


def _field(item: object) -> Field:
    if not isinstance(item, Mapping):
        raise bad_request("Each field must be an object with a `name` and a `type`.")
    name, kind = item.get("name"), item.get("type")
    if not isinstance(name, str) or not name or not isinstance(kind, str):
        raise bad_request("Each field must have a `name` and a `type`, both strings.")
    if kind in {"auto", "string*"} or "*" in name:
        raise unsupported(f"Field `{name}`: a type found out from the documents")
    if kind.removesuffix("[]") not in _BASE_TYPES and kind not in _OPAQUE_TYPES:
        raise bad_request(f"Field `{name}` has an invalid data type `{kind}`.")
    if item.get("reference"):
        raise unsupported(f"Field `{name}`: a reference to another collection")
    embed = item.get("embed")
    embed_from: tuple[str, ...] = ()
    if embed is not None:
        sources = embed.get("from") if isinstance(embed, Mapping) else None
        if not isinstance(sources, list) or not all(isinstance(part, str) for part in sources):
            raise bad_request(f"Field `{name}`: `embed.from` must be a list of field names.")
        embed_from = tuple(sources)
    shown = {
        "facet": False,
        "index": True,
        "infix": False,
        "locale": "",
        "optional": False,
        "sort": kind in {"int32", "int64", "float", "bool"},
        "stem": False,
        "store": True,
    }
    return Field(
        name=name,
        type=kind,
        optional=bool(item.get("optional")),
        facet=bool(item.get("facet")),
        vector=kind == "float[]" and (embed is not None or "num_dim" in item),
        embed_from=embed_from,
        declared=shown | dict(item),
    )


def _value(field: Field, value: object) -> object:
    """A value of a field, turned into its type where that loses nothing."""
    read = _READERS[field.base_type]
    if not field.is_list:
        found = read(value, field.base_type)
        if found is None:
            raise bad_request(f"Field `{field.name}` must be {_ARTICLES[field.base_type]}.")
        return found
    if not isinstance(value, list):
        raise bad_request(f"Field `{field.name}` must be an array of {field.base_type} values.")
    found_all = [read(item, field.base_type) for item in value]
    if None in found_all:
        raise bad_request(f"Field `{field.name}` must be an array of {field.base_type} values.")
    return found_all


def _text(value: object, _: str) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _whole(value: object, kind: str) -> int | None:
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"[+-]?\d{1,20}", value, re.ASCII) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool):
        value = int(value)
    half = 1 << (_INT_BITS[kind] - 1)
    return value if isinstance(value, int) and -half <= value < half else None


def _decimal(value: object, _: str) -> float | int | None:
    if isinstance(value, str):
        value = float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def _truth(value: object, _: str) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "string": _text,
    "int32": _whole,
    "int64": _whole,
    "float": _decimal,
    "bool": _truth,
}
_ARTICLES = {
    "string": "a string",
    "int32": "an int32",
    "int64": "an int64",
    "float": "a float",
    "bool": "a bool",
}
