"""Search for tool servers that expect a Typesense: one embedded in the run, or a real one by URL.

The embedded one ranks by text (BM25 over SQLite's FTS5, English stems, no typo tolerance). It
accepts embedding fields and makes no embeddings: an answer that was asked for a ranking by one says
``{"outcomebox": {"ranking": "text ranking, no embeddings"}}``, and the log says so once::

    async with search_service() as search:
        await search.check()
        ...                               # clients at search.host, search.port
"""

from outcomebox.sandbox.search.index import Store
from outcomebox.sandbox.search.service import SearchService, search_service

__all__ = ["SearchService", "Store", "search_service"]
