"""A real browser for tests: headless Chromium, steered over a pipe in its DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

DEADLINE_S = 120.0
"""For a machine that is busy; nothing waits that long on one that is not."""


def found() -> str | None:
    """The browser's program, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One tab; what it asks for, prints and throws is kept.

    Attributes:
        requests: Addresses of all requests.
        problems: Errors on the console, exceptions, and what the page's policy refused.
    """

    def __init__(self, folder: Path, *, dark: bool = False, size: str = "1440,1000") -> None:
        program = found()
        assert program is not None
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        flags = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={folder}",
            f"--window-size={size}",
            *(["--blink-settings=preferredColorScheme=0"] if dark else []),
            "about:blank",
        ]
        # The protocol's pipe is on 3 and 4, whatever numbers the ends have here, also in a shell
        # that takes one digit only.
        start = f'exec "$0" "$@" 3</dev/fd/{to_read} 4>/dev/fd/{to_write}'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", start, program, *flags],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(folder)},
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.problems: list[str] = []
        targets = self.ask("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        if dark:
            media = [{"name": "prefers-color-scheme", "value": "dark"}]
            self.ask("Emulation.setEmulatedMedia", features=media)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, AssertionError):
            self._session = None
            self.ask("Browser.close")
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._to, data) :]
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
        raise AssertionError("the browser is gone")

    def _messages(self) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + DEADLINE_S
        while True:
            while b"\0" in self._buffer:
                one, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(one)
                self._note(message)
                yield message
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._from, 1 << 20)
            assert data, "the browser is gone"
            self._buffer += data

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded":
                if params["entry"]["level"] in ("error", "warning"):
                    self.problems.append(json.dumps(params["entry"]))
            case "Runtime.consoleAPICalled":
                self.problems.append(json.dumps(params["args"]))
            case "Page.javascriptDialogOpening":
                self.problems.append(f"dialog: {params['message']}")

    def open(self, page: Path, place: str = "") -> None:
        """Open a page from the disk, and wait until it says that it is ready."""
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=page.as_uri() + place)
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def value(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + DEADLINE_S
        while not self.value(f"Boolean({script})"):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.02)  # asks again; nothing depends on how long

    def click(self, selector: str) -> None:
        """Click the first element of a selector."""
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def key(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Keep a picture of what is seen, or of the whole page."""
        told = self.ask("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(told["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        height = min(size["height"], 6000)
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}}
