"""Sessions over HTTP: the ThinkingBox session-proxy API, and MCP, over the library's own sessions.

::

    async with sandbox() as box:
        offers = Offers(box, load_servers(Path("servers.yaml")))
        listener = listening("127.0.0.1", 7111)
        async with session_service(offers, listener, ServiceSettings()) as service:
            await anyio.sleep_forever()

A request becomes a call of a :class:`~outcomebox.sandbox.World` or of a domain's
:class:`~outcomebox.sandbox.Session`; nothing here knows how sessions are made or kept apart.
"""

from outcomebox.sandbox.service.offers import Offers
from outcomebox.sandbox.service.run import ServiceSettings, SessionService, session_service

__all__ = ["Offers", "ServiceSettings", "SessionService", "session_service"]
