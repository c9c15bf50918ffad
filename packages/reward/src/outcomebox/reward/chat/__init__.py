"""Endpoints that speak the OpenAI protocol: requests, bounded retries, plain errors.

::

    endpoint = ChatEndpoint(base_url="http://127.0.0.1:8000/v1", model="m")
    with counting_traffic() as traffic:
        answer = await endpoint.chat([{"role": "user", "content": "Hello"}])
    traffic.to_json()      # what it took: requests, retries, waits
"""

from outcomebox.reward.chat.answers import ChatAnswer, StructuredCall, TextAnswer, Usage
from outcomebox.reward.chat.connections import holds_secret
from outcomebox.reward.chat.endpoint import ChatEndpoint
from outcomebox.reward.chat.errors import ChatError, ContextTooLong
from outcomebox.reward.chat.traffic import Counts, Traffic, counting_traffic

__all__ = [
    "ChatAnswer",
    "ChatEndpoint",
    "ChatError",
    "ContextTooLong",
    "Counts",
    "StructuredCall",
    "TextAnswer",
    "Traffic",
    "Usage",
    "counting_traffic",
    "holds_secret",
]
