"""The plugs' own tests, run inside the releases that they plug into.

Heavy: it makes the environments of the releases (oracle_environments). Pants runs it only when
asked for heavy tests, and pytest only with OUTCOMEBOX_HEAVY=1.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

import outcomebox.interpret
from oracle_environments import python_of

pytestmark = pytest.mark.skipif(
    not os.environ.get("OUTCOMEBOX_HEAVY"),
    reason="runs real vLLM and verl: minutes, and a gigabyte to install; set OUTCOMEBOX_HEAVY=1",
)

_TESTS = Path(__file__).parent
_SOURCES = Path(outcomebox.interpret.__file__).parents[2]

# verl's agent loop imports its trainer's needs on the way to its parsers.
_STAND_INS = """
import oracle_standins

oracle_standins.ABSENT |= {
    "aiofiles", "codetiming", "datasets", "dill", "fastapi", "hydra", "orjson", "pandas", "peft",
    "pyarrow", "qwen_vl_utils", "tensorboard", "torchdata", "uvicorn", "wandb",
}
oracle_standins.install()
"""


@pytest.mark.parametrize(
    ("release", "file", "least"),
    [
        ("vllm032", "test_interpret_plugs_vllm.py", 150),
        ("vllm024", "test_interpret_plugs_vllm.py", 150),
        ("vllm024", "test_interpret_plugs_verl.py", 8),
    ],
)
def test_the_plugs_work_inside_the_release(
    release: str, file: str, least: int, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_STAND_INS, encoding="utf-8")
    places = [tmp_path, _SOURCES, _TESTS]
    done = subprocess.run(
        [
            str(python_of(release)),
            *("-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider"),
            *("--rootdir", str(_TESTS), str(_TESTS / file)),
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, places)),
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout[-3000:] + done.stderr[-3000:]
    assert done.returncode == 0, said
    # Tests that find no release skip, so that passing is not enough.
    counts = re.search(r"(\d+) passed in", done.stdout)
    assert counts, said
    assert int(counts[1]) >= least, said
