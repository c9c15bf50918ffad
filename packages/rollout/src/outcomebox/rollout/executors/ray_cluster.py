"""The connection to a Ray cluster; Ray itself is loaded here and nowhere else."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from outcomebox.rollout.executors.ray_options import FIELD, RayOptions
from outcomebox.sandbox import InputError

logger = logging.getLogger(__name__)

_CONNECT_S = 5.0
_HOW = (
    "start one (`ray start --head` here, `ray start --address=HOST:PORT` on other machines), give "
    f"--{FIELD} address=HOST:PORT, or address=local for this machine alone"
)


def load_ray() -> Any:
    """The library.

    Raises:
        InputError: It is not installed.
    """
    # Read by Ray when it is loaded: nothing is reported home.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        # By name: it is an extra, and of no use to whoever runs episodes on one machine.
        ray = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError as error:
        raise InputError(
            f"needs Ray ({error}): pip install 'outcomebox-rollout[ray]'",
            field="executor",
            value="ray",
        ) from error
    return ray


@contextmanager
def connected(ray: Any, options: RayOptions) -> Iterator[None]:
    """Be a driver of the cluster for a while. A connection that is there already is used, and kept.

    Args:
        ray: The library.
        options: Which cluster, and the runtime environment of the run.

    Raises:
        InputError: There is no such cluster, or it is of another version.
    """
    if ray.is_initialized():
        if options.working_dir or options.runtime_env:
            raise InputError(
                "this process is connected to Ray already: give working_dir and runtime_env to its "
                "ray.init()",
                field=FIELD,
            )
        yield
        return
    environment = options.environment()
    address = options.address or os.environ.get("RAY_ADDRESS") or "auto"
    if address != "local":
        _reachable(address)
    handler = signal.getsignal(signal.SIGTERM)
    _quiet()
    try:
        ray.init(
            address=address,
            runtime_env=environment,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
            include_dashboard=False if address == "local" else None,
        )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        ray.shutdown()
        raise InputError(_mend(str(error)), field=FIELD, value=f"address={address}") from error
    finally:
        # Ray takes SIGTERM for itself; here it ends the run in order.
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        ray.shutdown()
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)


def _reachable(address: str) -> None:
    """See that something listens there: Ray would try for a minute and then end the process.

    Raises:
        InputError: Nothing does, or it is no address of a head.
    """
    field, value = FIELD, f"address={address}"
    if "://" in address:
        raise InputError(
            "a Ray client address is of no use: run the command on a machine of the cluster, or "
            "with `ray job submit`, and give HOST:PORT of the head or nothing",
            field=field,
            value=value,
        )
    if address == "auto":
        found = _current()
        if found is None:
            raise InputError(f"no Ray cluster runs on this machine; {_HOW}", field=field)
        address = found
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise InputError("write HOST:PORT of the head", field=field, value=value)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"nothing answers at {address} ({error}); {_HOW}", field=field, value=value
        ) from error


def _quiet() -> None:
    """Take what Ray prints of lost workers, of any run, as log records: standard output is ours."""
    worker = importlib.import_module("ray._private.worker")
    if hasattr(worker, "print_to_stdstream"):

        def note(data: Mapping[str, Any], *_: Any, **__: Any) -> None:
            for line in data.get("lines", ()):
                logger.debug("Ray: %s", line)

        vars(worker)["print_to_stdstream"] = note


def _current() -> str | None:
    """The address of the cluster that Ray finds by itself, if there is one."""
    services = importlib.import_module("ray._private.services")
    try:
        found: str = services.canonicalize_bootstrap_address_or_die("auto")
    except ConnectionError:
        return None
    return found


def _mend(message: str) -> str:
    first = " ".join(message.split())[:400]
    if "ersion" in first and "ismatch" in first:
        return f"this Ray or Python is not the cluster's: install the same here. {first}"
    if "uthentication" in first or "oken" in first:
        return f"the cluster wants a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN. {first}"
    return f"Ray does not take the connection: {first}"
