"""The parameters of one search, read from strings or JSON values and held against the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outcomebox.sandbox.search.filters import Condition, read_filter
from outcomebox.sandbox.search.query import Term, matches_all, read_query
from outcomebox.sandbox.search.refusal import bad_request, not_found, unsupported
from outcomebox.sandbox.search.schema import Schema

MAX_PER_PAGE = 250
TEXT_MATCH, VECTOR_DISTANCE = "_text_match", "_vector_distance"

# These change which documents come back; to pass over them in silence would be a wrong answer.
_UNSUPPORTED = (
    "conversation",
    "facet_by",
    "facet_query",
    "hidden_hits",
    "pinned_hits",
    "preset",
    "vector_query",
    "voice_query",
)
_SORT = re.compile(r"\s*([^:(),]+?)\s*(\([^)]*\))?\s*:\s*(asc|desc)\s*(?:,|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Search:
    """One search, ready to be done.

    Attributes:
        query: The text as it was given.
        terms: What is looked for; nothing asks for every document.
        fields: String fields to look in.
        weights: What a match in each counts.
        by_embedding: Whether the ranking by an embedding was asked for.
        condition: What a document must fulfil.
        sort: Field or ``_text_match`` / ``_vector_distance``, and whether it descends.
        group_by: Fields whose values make a group; none: no groups.
        group_limit: Documents shown of each group.
        offset: Documents or groups left out at the start.
        per_page: Documents or groups shown.
        page: The page's number, as it is shown.
        include: Fields of a document that are shown; none: all.
        exclude: Fields that are not.
        marks: How what was found is marked.
    """

    query: str
    terms: tuple[Term, ...]
    fields: tuple[str, ...]
    weights: tuple[float, ...]
    by_embedding: bool
    condition: Condition
    sort: tuple[tuple[str, bool], ...]
    group_by: tuple[str, ...]
    group_limit: int
    offset: int
    per_page: int
    page: int
    include: frozenset[str]
    exclude: frozenset[str]
    marks: Marks


@dataclass(frozen=True, slots=True)
class Marks:
    """How what a query found is marked in the documents it found.

    Attributes:
        start: Put before it.
        end: Put after it.
        fields: Fields that are marked.
        full: Those of them whose whole text is shown as well.
        affix: Words of context on either side in an excerpt.
        threshold: A text of at most so many words is its own excerpt.
    """

    start: str
    end: str
    fields: frozenset[str]
    full: frozenset[str]
    affix: int
    threshold: int


def read_search(given: Mapping[str, Any], schema: Schema) -> Search:
    """Read the parameters of a search.

    Raises:
        SearchRefused: One is wrong, or asks for what is not done here.
    """
    for name in _UNSUPPORTED:
        if given.get(name) not in {None, "", "false", False}:
            raise unsupported(f"Parameter `{name}`")
    query = given.get("q")
    if not isinstance(query, str):
        raise bad_request("Parameter `q` is required.")
    everything = matches_all(query)
    asked = _names(given, "query_by")
    if not asked and not everything:
        raise bad_request("No search fields specified for the query: give `query_by`.")
    fields, by_embedding = _searched(asked, _names(given, "query_by_weights"), schema)
    if not fields and not everything:
        raise bad_request("No field in `query_by` holds text, nor an embedding of any.")
    per_page = _whole(given, "per_page", _whole(given, "limit", 10))
    if per_page > MAX_PER_PAGE:
        raise bad_request(f"Only up to {MAX_PER_PAGE} hits can be fetched per page.")
    page = max(1, _whole(given, "page", 1))
    group_by = tuple(_names(given, "group_by"))
    for name in group_by:
        if name not in schema.fields:
            raise not_found(f"Could not find a field named `{name}` in the schema.")
        if not schema.fields[name].facet:
            raise bad_request(f"Group by field `{name}` should be a facet field.")
    group_limit = _whole(given, "group_limit", 3)
    if group_by and not 1 <= group_limit <= 99:
        raise bad_request("Value of `group_limit` must be between 1 and 99.")
    prefix = str(given.get("prefix", "true")).split(",")[0].strip().lower() != "false"
    marked = _names(given, "highlight_fields") or list(fields)
    return Search(
        query=query,
        terms=() if everything else read_query(query, prefix=prefix),
        fields=tuple(fields),
        weights=tuple(fields.values()),
        by_embedding=by_embedding,
        condition=read_filter(str(given.get("filter_by") or ""), schema),
        sort=_sort(str(given.get("sort_by") or ""), schema),
        group_by=group_by,
        group_limit=group_limit,
        offset=_whole(given, "offset", (page - 1) * per_page),
        per_page=per_page,
        page=page,
        include=frozenset(_names(given, "include_fields")),
        exclude=frozenset(_names(given, "exclude_fields")),
        marks=Marks(
            start=str(given.get("highlight_start_tag", "<mark>")),
            end=str(given.get("highlight_end_tag", "</mark>")),
            fields=frozenset(marked),
            full=frozenset(_names(given, "highlight_full_fields")),
            affix=_whole(given, "highlight_affix_num_tokens", 4),
            threshold=_whole(given, "snippet_threshold", 30),
        ),
    )


def _searched(
    asked: list[str], weights: list[str], schema: Schema
) -> tuple[dict[str, float], bool]:
    """Text fields with their weights, and whether an embedding was among what was asked for."""
    if weights and len(weights) != len(asked):
        raise bad_request("Number of weights in `query_by_weights` must match that of `query_by`.")
    found: dict[str, float] = {}
    by_embedding = False
    for place, name in enumerate(asked):
        field = schema.fields.get(name)
        if field is None:
            raise not_found(f"Could not find a field named `{name}` in the schema.")
        if not field.is_text and not field.vector:
            raise bad_request(f"Field `{name}` should be a string or a string array.")
        by_embedding |= field.vector
        weight = _weight(weights[place]) if weights else 1.0
        for text in field.embed_from if field.vector else (name,):
            found[text] = max(weight, found.get(text, 0.0))
    return found, by_embedding


def _weight(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise bad_request(f"Weight `{text}` in `query_by_weights` must be a whole number.")
    return float(text)


def _sort(text: str, schema: Schema) -> tuple[tuple[str, bool], ...]:
    keys: list[tuple[str, bool]] = []
    at = 0
    while text[at:].strip():
        found = _SORT.match(text, at)
        if found is None:
            raise bad_request(
                f"Parameter `sort_by` is malformed at `{text[at : at + 80]}`: give field:asc or "
                "field:desc, separated by commas."
            )
        name = found[1]
        if found[2]:
            raise unsupported(f"`{name}{found[2]}` in `sort_by`")
        if name not in {TEXT_MATCH, VECTOR_DISTANCE}:
            field = schema.fields.get(name)
            if field is None:
                raise not_found(f"Could not find a field named `{name}` in the schema for sorting.")
            if field.is_list or not field.declared["sort"]:
                raise bad_request(f"Field `{name}` in `sort_by` is not declared with `sort`.")
        keys.append((name, found[3].lower() == "desc"))
        at = found.end()
    if not any(name in {TEXT_MATCH, VECTOR_DISTANCE} for name, _ in keys):
        default = [(schema.default_sorting_field, True)] if schema.default_sorting_field else []
        keys += [(TEXT_MATCH, True), *(default if not keys else [])]
    return tuple(keys)


def _names(given: Mapping[str, Any], name: str) -> list[str]:
    value = given.get(name)
    if value is None:
        return []
    parts = value if isinstance(value, list) else str(value).split(",")
    return [text for part in parts if (text := str(part).strip())]


def _whole(given: Mapping[str, Any], name: str, default: int) -> int:
    value = given.get(name)
    if value is None or value == "":
        return default
    if not re.fullmatch(r"\d{1,9}", str(value), re.ASCII):
        raise bad_request(f"Parameter `{name}` must be an unsigned integer.")
    return int(value)
