"""A Ray cluster on the loopback, for as long as its standard input is open; runs where Ray is.

A head without CPUs, and two nodes of one CPU each. It prints one line of JSON with the address. A
line ``lose`` kills the last node, ``add`` adds one; each is answered by a line.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Serve until the end of standard input."""
    Cluster = importlib.import_module("ray.cluster_utils").Cluster  # noqa: N806 -- a class
    shared = {
        "include_log_monitor": False,
        "node_ip_address": "127.0.0.1",
        "object_store_memory": 80 << 20,
    }
    cluster: Any = Cluster()
    try:
        cluster.add_node(num_cpus=0, include_dashboard=False, no_monitor=True, **shared)
        nodes = [cluster.add_node(num_cpus=1, **shared) for _ in range(2)]
        _say({"address": cluster.address})
        for line in sys.stdin:
            order = line.strip()
            if order == "lose":
                raylet = nodes.pop().all_processes["raylet"][0].process
                raylet.kill()
                # Its workers see that it is gone once it is no zombie.
                raylet.wait()
            else:
                nodes.append(cluster.add_node(num_cpus=1, **shared))
            _say({"done": order})
    finally:
        cluster.shutdown()


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
