"""The platform "cpu" of verl, whose registry is made for such additions (verl 0.9.0 and 0.9.1).

verl asks a platform for two things: answers about the device, and the module that stands where
``torch.cuda`` would. On a CPU most of what that module is asked is about memory of a device that is
not there; it answers that none is used and there is nothing to wait for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch  # pants: no-infer-dep
from verl.plugin.platform.platform_base import PlatformBase  # pants: no-infer-dep
from verl.plugin.platform.platform_manager import PlatformRegistry  # pants: no-infer-dep

NAME = "cpu"

_OF_TORCH = ("Event", "Stream", "StreamContext", "current_stream", "is_available", "stream",
             "synchronize")  # fmt: skip
"""What ``torch.cpu`` has itself and verl asks for."""


def _device_module() -> ModuleType:
    """The module that verl uses as ``torch.<device>``."""
    module: Any = ModuleType("outcomebox_cpu_device")
    for name in _OF_TORCH:
        if hasattr(torch.cpu, name):
            setattr(module, name, getattr(torch.cpu, name))
    # verl/utils/flops_counter.py looks the name up in its table, and takes an unknown one for
    # a device of unlimited speed.
    module.get_device_name = lambda *_: "CPU"
    module.current_device = lambda: 0
    module.device_count = lambda: 1
    module.get_rng_state = torch.get_rng_state
    module.set_rng_state = torch.set_rng_state
    module.manual_seed = torch.manual_seed
    module.manual_seed_all = torch.manual_seed
    for name in ("empty_cache", "ipc_collect", "reset_peak_memory_stats", "set_device",
                 "set_per_process_memory_fraction"):  # fmt: skip
        setattr(module, name, _nothing)
    for name in ("max_memory_allocated", "max_memory_reserved", "memory_allocated",
                 "memory_reserved"):  # fmt: skip
        setattr(module, name, _none_used)
    module.mem_get_info = lambda *_: _memory()
    made: ModuleType = module
    return made


def _nothing(*_: Any, **__: Any) -> None:
    """There is no device that could be told so."""


def _none_used(*_: Any, **__: Any) -> int:
    """Bytes of a device's memory that are in use."""
    return 0


def _memory() -> tuple[int, int]:
    """Free and total bytes: of the machine, for there is no other memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")


@PlatformRegistry.register(platform=NAME)
class CpuPlatform(PlatformBase):  # type: ignore[misc]  # verl has no types
    """A machine without an accelerator."""

    _MODULE = _device_module()

    @property
    def device_name(self) -> str:
        """What torch calls the device."""
        return NAME

    @property
    def vendor_name(self) -> str:
        """Nobody's in particular."""
        return NAME

    @property
    def device_module(self) -> ModuleType:
        """What stands where ``torch.cuda`` would."""
        return self._MODULE

    def is_available(self) -> bool:
        """Always."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:  # noqa: ARG002 -- verl's
        """Only where it was asked for: nobody should train on a CPU by accident."""
        return os.environ.get("VERL_PLATFORM") == NAME

    def current_device(self) -> Any:
        """The device itself where others give its index, which torch would take for a GPU's."""
        return torch.device(NAME)

    def device_count(self) -> int:
        """One, whatever the number of cores."""
        return 1

    def set_device(self, device_index: int) -> None:
        """There is one."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Nothing runs apart."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """There is no allocator to set."""

    def empty_cache(self) -> None:
        """There is no cache."""

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:  # noqa: ARG002
        """CPUs have no such number."""
        return (None, None)

    def communication_backend_name(self) -> str:
        """What torch.distributed has for CPUs."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Ray's name for the logical GPU, see :meth:`ray_resource_name`."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:  # noqa: ARG002 -- verl's
        """Nothing is marked."""
        yield

    def profiler_start(self) -> None:
        """There is no device profiler."""

    def profiler_stop(self) -> None:
        """There is no device profiler."""

    def ray_resource_name(self) -> str:
        """What verl places its workers by; Ray is told of a GPU that is not there.

        The launcher tells it so (``cluster.gpus`` in ``run.yaml``).
        """
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """What keeps Ray from hiding the logical GPU."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """No: weights go through shared memory."""
        return False

    def cudart(self) -> None:
        """There is no CUDA."""
