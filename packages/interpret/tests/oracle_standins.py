"""Lets a release's parsers be imported where what they do not need is not installed.

The parsers are text in, text out; but their packages import torch, transformers, image libraries
and more on the way to them, gigabytes of which parsing uses nothing. Where such a module is not
installed, an empty one stands in, whose every attribute is an empty class. What is installed is
imported as ever: with everything there, nothing stands in.

That this changes no answer is tested: the corpus is recorded with everything installed, and the
heavy tests, where these modules stand in, must give the same answers.
"""

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ABSENT = frozenset({
    "IPython", "PIL", "accelerate", "aiohttp", "antlr4", "attr", "av", "compressed_tensors", "cv2",
    "flashinfer", "llguidance", "mistral_common", "numba", "omegaconf", "outlines_core", "ray",
    "safetensors", "sentencepiece", "sympy", "tensordict", "tiktoken", "tokenizers", "torch",
    "torchvision", "transfer_queue", "transformers", "triton", "tvm_ffi", "uvloop", "xgrammar",
    "zmq",
})  # fmt: skip
"""What may be stood in for, and nothing else."""

RELEASES = {"transformers": "5.10.4"}
"""Distributions whose release is asked for, and what is answered where they are not installed."""

_HOOKS = frozenset({"__class_validators__"})
"""Attributes between double underscores that a package asks one of these for."""


class _Empty(type):
    """The type of stand-ins: has every attribute, does nothing, is nothing."""

    def __getattr__(cls, name: str) -> "_Empty":
        if _reserved(name):
            raise AttributeError(name)
        return _remember(cls, name)

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        if cls.__module__ != __name__:
            return super().__call__(*arguments, **options)
        decorates = len(arguments) == 1 and not options
        if decorates and isinstance(arguments[0], FunctionType | type):
            return arguments[0]
        return cls

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__module__ != __name__ and super().__instancecheck__(instance)

    def __bool__(cls) -> bool:
        return False

    def __iter__(cls) -> Any:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __getitem__(cls, key: Any) -> "_Empty":
        return cls

    def __enter__(cls) -> "_Empty":
        return cls

    def __exit__(cls, *error: object) -> None:
        return None

    def __int__(cls) -> int:
        return 0

    __index__ = __int__

    def __lt__(cls, other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __add__(cls, other: Any) -> "_Empty":
        return cls

    __radd__ = __mul__ = __rmul__ = __add__


class _StandIn(metaclass=_Empty):
    """What every attribute of an absent module is a subclass of."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        pass

    def __init_subclass__(cls, **options: Any) -> None:
        pass

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


class _AbsentModule(ModuleType):
    __version__ = "2.13.0"  # Of torch, the one whose version is asked for.

    def __getattr__(self, name: str) -> _Empty:
        if _reserved(name):
            raise AttributeError(name)
        return _remember(self, name)


class _AbsentDistribution(Distribution):
    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {RELEASES[self._name]}\n"

    def locate_file(self, path: Any) -> Any:
        return Path(path)


class _Finder(Loader):
    """Finds the modules that nobody else found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return (
            ModuleSpec(name, self, is_package=True)
            if name.split(".", maxsplit=1)[0] in ABSENT
            else None
        )

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        if context.name in RELEASES:
            yield _AbsentDistribution(context.name)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _AbsentModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    """Stand in, from now on, for what is not installed."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def standing_in() -> tuple[str, ...]:
    """Return which distributions' modules are stood in for so far."""
    return tuple(
        sorted(
            {
                name.split(".")[0]
                for name, module in sys.modules.items()
                if isinstance(module, _AbsentModule)
            }
        )
    )


def _reserved(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _HOOKS


def _remember(owner: Any, name: str) -> _Empty:
    made = _Empty(name, (_StandIn,), {"__module__": __name__})
    setattr(owner, name, made)
    return made
