from __future__ import annotations

import hashlib
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from outcomebox.sandbox import InputError
from outcomebox.train import compat
from outcomebox.train.compat import Patch, after_import, apply, check
from outcomebox.train.compat.source import function_digest
from outcomebox.train.config.versions import SUPPORTED

ENGINE = """
class Engine:
    def step(self):
        return "theirs"


def train():
    return Engine().step()
"""


def ours(module: ModuleType) -> None:
    """Installs a change into the package of :func:`package`."""
    module.Engine.step = lambda self: "ours"


@pytest.fixture
def package(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Folder of an importable package whose name is the test's own."""
    name = "pretended_" + re.sub(r"\W", "_", request.node.name)
    folder = tmp_path / name
    (folder / "workers").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "workers" / "__init__.py").write_text("")
    (folder / "workers" / "engine.py").write_text(ENGINE)
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(tmp_path))
    for one in [one for one in sys.modules if one.partition(".")[0] == name]:
        del sys.modules[one]


def patch_of(folder: Path, **changes: Any) -> Patch:
    digest = function_digest(folder / "workers" / "engine.py", "Engine.step")
    fields: dict[str, Any] = {
        "name": f"step of {folder.name}",
        "why": "theirs is not ours",
        "module": f"{folder.name}.workers.engine",
        "function": "Engine.step",
        "digests": {"0.9.1": digest},
        "installer": f"{__name__}:ours",
        "not_needed": {},
    }
    return Patch(**{**fields, **changes})


def test_a_change_is_made_when_the_module_is_imported(package: Path) -> None:
    patch = patch_of(package)
    (done,) = apply("0.9.1", folder=package, patches=[patch])
    assert done.state == "patched"
    assert patch.module not in sys.modules
    engine = importlib.import_module(patch.module)
    assert engine.train() == "ours"


def test_a_name_taken_by_the_first_importer_is_the_changed_one(package: Path) -> None:
    user = package / "user.py"
    user.write_text(f"from {package.name}.workers.engine import train\n")
    apply("0.9.1", folder=package, patches=[patch_of(package)])
    assert importlib.import_module(f"{package.name}.user").train() == "ours"


def test_a_change_is_made_at_once_where_the_module_is_there(package: Path) -> None:
    patch = patch_of(package)
    engine = importlib.import_module(patch.module)
    assert engine.train() == "theirs"
    apply("0.9.1", folder=package, patches=[patch])
    assert engine.train() == "ours"


def test_a_second_call_changes_nothing_more(package: Path) -> None:
    patch = patch_of(package)
    first = apply("0.9.1", folder=package, patches=[patch])
    engine = importlib.import_module(patch.module)
    made = engine.Engine.step
    assert apply("0.9.1", folder=package, patches=[patch]) == first
    assert engine.Engine.step is made


def test_where_it_is_not_needed_nothing_is_changed_and_that_is_told(package: Path) -> None:
    patch = patch_of(package, not_needed={"0.9.1": "theirs is good"})
    (done,) = apply("0.9.1", folder=package, patches=[patch])
    assert (done.state, done.why) == ("not needed", "theirs is good")
    assert importlib.import_module(patch.module).train() == "theirs"
    assert "not needed" in str(done)


@pytest.mark.parametrize("version", ["0.8.0", "0.9.2", "0.10.0", "0.9.1.dev0"])
def test_an_unknown_verl_is_refused_by_name(package: Path, version: str) -> None:
    with pytest.raises(InputError, match=version.replace(".", r"\.")) as refused:
        apply(version, folder=package, patches=[patch_of(package)])
    assert all(known in str(refused.value) for known in SUPPORTED)


def test_a_function_that_somebody_edited_is_refused_by_name(package: Path) -> None:
    patch = patch_of(package)
    file = package / "workers" / "engine.py"
    file.write_text(ENGINE.replace("theirs", "edited"))
    found = function_digest(file, "Engine.step")
    with pytest.raises(InputError) as refused:
        apply("0.9.1", folder=package, patches=[patch])
    message = str(refused.value)
    for told in (str(file), "Engine.step", patch.name, "verl==0.9.1", found[:20]):
        assert told in message
    assert importlib.import_module(patch.module).train() == "edited"


def test_an_edit_elsewhere_in_the_file_does_not_matter(package: Path) -> None:
    patch = patch_of(package)
    file = package / "workers" / "engine.py"
    file.write_text(f"# A comment.\n{ENGINE}\n\ndef more() -> None: ...\n")
    assert check("0.9.1", folder=package, patches=[patch])[0].state == "patched"


@pytest.mark.parametrize("function", ["Engine.halt", "Motor.step", "train.inner"])
def test_a_function_that_is_gone_is_refused_by_name(package: Path, function: str) -> None:
    with pytest.raises(InputError, match=f"{function}: is not there"):
        check("0.9.1", folder=package, patches=[patch_of(package, function=function)])


def test_a_version_without_a_pin_is_refused(package: Path) -> None:
    with pytest.raises(InputError, match=r"verl 0\.9\.0"):
        check("0.9.0", folder=package, patches=[patch_of(package)])


def test_one_refusal_leaves_everything_as_it_was(package: Path) -> None:
    good = patch_of(package)
    bad = patch_of(package, name="bad", digests={"0.9.1": "0" * 64})
    with pytest.raises(InputError):
        apply("0.9.1", folder=package, patches=[good, bad])
    assert importlib.import_module(good.module).train() == "theirs"


def test_another_copy_than_the_checked_one_fails_its_import(package: Path, tmp_path: Path) -> None:
    patch = patch_of(package)
    copy = tmp_path / "copy" / package.name / "workers"
    copy.mkdir(parents=True)
    (copy / "engine.py").write_text(ENGINE)
    apply("0.9.1", folder=copy.parent, patches=[patch])
    with pytest.raises(InputError, match="put one verl on the path"):
        importlib.import_module(patch.module)
    assert patch.module not in sys.modules


def test_a_callback_that_raises_fails_the_import(package: Path) -> None:
    def fails(module: ModuleType) -> None:
        raise RuntimeError("no")

    after_import(f"{package.name}.workers.engine", fails)
    with pytest.raises(RuntimeError, match="no"):
        importlib.import_module(f"{package.name}.workers.engine")
    assert f"{package.name}.workers.engine" not in sys.modules


def test_callbacks_come_in_their_order_and_the_module_keeps_its_loader(package: Path) -> None:
    heard: list[int] = []
    name = f"{package.name}.workers.engine"
    for number in range(3):
        after_import(name, partial(lambda number, module: heard.append(number), number))
    module = importlib.import_module(name)
    assert heard == [0, 1, 2]
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__
    assert type(module.__loader__).__name__ == "SourceFileLoader"


def test_the_digest_is_of_the_functions_own_text(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text("import functools\n\n\n@functools.cache\ndef f():\n    return 1\n")
    assert function_digest(file, "f") == hashlib.sha256(b"def f():\n    return 1").hexdigest()


def test_every_supported_verl_is_pinned() -> None:
    for patch in compat.PATCHES:
        assert set(patch.digests) == set(SUPPORTED), patch.name
        assert set(patch.not_needed) <= set(SUPPORTED), patch.name


def test_importing_it_imports_neither_torch_nor_verl() -> None:
    code = (
        "import sys; from outcomebox.train import compat, groups; groups.register();"
        "print(sorted({'torch', 'verl', 'ray', 'transfer_queue'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert done.stdout.strip() == "[]"


def test_what_is_done_is_said_where_and_when_it_is_done(
    package: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    patch = patch_of(package)
    code = (
        "import importlib, test_train_compat as t; from pathlib import Path\n"
        "from outcomebox.train.compat import apply\n"
        f"folder = Path({str(package)!r})\n"
        "changed = t.patch_of(folder)\n"
        "right = t.patch_of(folder, name='right', not_needed={'0.9.1': 'as it is'})\n"
        "apply('0.9.1', folder=folder, patches=[changed, right])\n"
        "print('before', flush=True)\n"
        "importlib.import_module(changed.module)\n"
    )
    path = os.pathsep.join([*sys.path, str(Path(__file__).parent), str(package.parent)])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})
    out, err = capfd.readouterr()
    assert out == "before\n"
    first, second = err.splitlines()
    assert f"{patch.name}: patched in {patch.where}" in first
    assert f"right: not needed in {patch.where}" in second
    assert second.endswith("as it is")
