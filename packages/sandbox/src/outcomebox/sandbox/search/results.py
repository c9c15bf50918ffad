"""The answer to a search: hits or groups of hits, in Typesense's shape.

Where the ranking by an embedding was asked for, the answer says that it got one by text: in
``outcomebox.ranking``, and each hit's ``vector_distance`` is made from its rank, r / (r + 1), since
clients sort by it. It rises with the rank and stays below 1, the middle of a cosine distance's
range, so that a hit that another search found without any distance goes after them.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from typing import Any

from outcomebox.sandbox.search.index import BETWEEN, END, START, Collection, Entry
from outcomebox.sandbox.search.params import TEXT_MATCH, VECTOR_DISTANCE, Marks, Search

TEXT_ONLY = "text ranking, no embeddings"

# The answer holds whole numbers, small enough for any client's floats.
_SCORE_UNIT = 1e9
_FOUND = re.compile(f"{START}([^{END}]*){END}")

Ranked = tuple[Entry, float, int]  # a document, its score, its rank from 1


def answer(collection: Collection, search: Search) -> dict[str, Any]:
    """Do a search."""
    started = time.perf_counter()
    ranked = _ranked(collection, search)
    result: dict[str, Any] = {
        "facet_counts": [],
        "found": len(ranked),
        "out_of": len(collection),
        "page": search.page,
        "request_params": {
            "collection_name": collection.schema.name,
            "first_q": search.query,
            "per_page": search.per_page,
            "q": search.query,
        },
        "search_cutoff": False,
    }
    shown = slice(search.offset, search.offset + search.per_page)
    if search.group_by:
        groups: dict[tuple[str, ...], list[Ranked]] = {}
        for item in ranked:
            key = tuple(repr(item[0].document.get(name)) for name in search.group_by)
            groups.setdefault(key, []).append(item)
        result |= {"found": len(groups), "found_docs": len(ranked)}
        result["grouped_hits"] = [
            {
                "found": len(group),
                "group_key": _group_key(group[0][0], search),
                "hits": [_hit(collection, search, item) for item in group[: search.group_limit]],
            }
            for group in list(groups.values())[shown]
        ]
    else:
        result["hits"] = [_hit(collection, search, item) for item in ranked[shown]]
    if search.by_embedding:
        result["outcomebox"] = {"ranking": TEXT_ONLY}
    result["search_time_ms"] = int((time.perf_counter() - started) * 1000)
    return result


def _ranked(collection: Collection, search: Search) -> list[Ranked]:
    """All documents that match and fulfil the condition, in the order asked for."""
    if not search.terms:
        found = [(entry, 0.0) for entry in reversed(list(collection.entries()))]
    else:
        found = [
            (collection.entry(number), score)
            for number, score in collection.ranking(search.fields, search.weights, search.terms)
        ]
    passed = [(entry, score) for entry, score in found if search.condition(entry.document)]
    ranked = [(entry, score, place) for place, (entry, score) in enumerate(passed, 1)]
    # From the last key to the first: each sort keeps the order of the one before among equals.
    for name, descending in reversed(search.sort):
        if name == TEXT_MATCH:
            ranked.sort(key=lambda item: item[1], reverse=descending)
        elif name == VECTOR_DISTANCE:
            ranked.sort(key=lambda item: item[1], reverse=not descending)
        else:
            have = [item for item in ranked if item[0].document.get(name) is not None]
            have.sort(key=lambda item: item[0].document[name], reverse=descending)
            ranked = have + [item for item in ranked if item[0].document.get(name) is None]
    return ranked


def _group_key(entry: Entry, search: Search) -> list[Any]:
    return [entry.document[name] for name in search.group_by if name in entry.document]


def _hit(collection: Collection, search: Search, item: Ranked) -> dict[str, Any]:
    entry, score, rank = item
    document = {
        name: value
        for name, value in entry.document.items()
        if (not search.include or name in search.include) and name not in search.exclude
    }
    hit: dict[str, Any] = {"document": document, "highlight": {}, "highlights": []}
    hit["text_match"] = round(score * _SCORE_UNIT)
    if search.terms:
        _mark(collection, search, entry, hit)
        if search.by_embedding:
            hit["vector_distance"] = rank / (rank + 1)
    return hit


def _mark(collection: Collection, search: Search, entry: Entry, hit: dict[str, Any]) -> None:
    marks = search.marks
    if not marks.fields.intersection(search.fields):
        return
    texts = collection.marked(search.fields, search.terms, entry.number)
    for name, whole in zip(search.fields, texts, strict=True):
        if START not in whole or name not in marks.fields:
            continue
        if collection.schema.fields[name].is_list:
            hit["highlight"][name], one = _marked_list(whole, name, search)
        else:
            one = {
                "matched_tokens": _tokens(whole),
                "snippet": _tagged(_excerpt(whole, marks), search),
            }
            if name in marks.full:
                one["value"] = _tagged(whole, search)
            hit["highlight"][name] = one
        hit["highlights"].append({"field": name, **one})


def _marked_list(whole: str, name: str, search: Search) -> tuple[list[Any], dict[str, Any]]:
    """The two forms in which what was found in a list of texts is shown."""
    values = whole.split(BETWEEN)
    found = [i for i, value in enumerate(values) if START in value]
    tagged = [_tagged(value, search) for value in values]
    by_place = [
        {"matched_tokens": _tokens(value), "snippet": shown}
        for value, shown in zip(values, tagged, strict=True)
    ]
    one: dict[str, Any] = {
        "indices": found,
        "matched_tokens": [_tokens(values[i]) for i in found],
        "snippets": [tagged[i] for i in found],
    }
    if name in search.marks.full:
        one["values"] = [tagged[i] for i in found]
    return by_place, one


def _excerpt(whole: str, marks: Marks) -> str:
    """The stretch of words with most of what was found, or a short text as it is."""
    words = whole.split(" ")
    if len(words) <= marks.threshold:
        return whole
    places = [i for i, word in enumerate(words) if START in word]
    length = 2 * marks.affix + 1
    counts = [bisect_left(places, place + length) - i for i, place in enumerate(places)]
    first = counts.index(max(counts))
    # What was found stands in the middle of the excerpt, as far as the text's ends let it.
    middle = (places[first] + places[first + counts[first] - 1]) // 2
    begin = max(0, min(middle - marks.affix, len(words) - length))
    cut = " ".join(words[begin : begin + length])
    # A cut can go through words found side by side.
    if END in cut and START not in cut[: cut.index(END)]:
        cut = START + cut
    return cut + END if cut.rfind(START) > cut.rfind(END) else cut


def _tokens(text: str) -> list[str]:
    return list(dict.fromkeys(_FOUND.findall(text)))


def _tagged(text: str, search: Search) -> str:
    return text.replace(START, search.marks.start).replace(END, search.marks.end)
