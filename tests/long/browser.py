"""Headless Chromium over a pipe of the DevTools protocol: enough to open a file and look at it."""

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
from typing import Any

#: Where a Chromium may be; the first that exists is used.
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
_WAIT_S = 90.0


def executable() -> str | None:
    """The path of an installed Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. `complaints` collects exceptions, console errors and what the page tried to load."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []

    def open(self, page: Path) -> None:
        """Open a file in a page of its own, and wait until it says that it is ready."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Page.navigate", url=page.as_uri())
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def send(self, method: str, **parameters: Any) -> Any:
        """The result of a command. Raises RuntimeError when the browser refuses it."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true. Raises TimeoutError."""
        end = time.monotonic() + _WAIT_S
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(f"{script}; {self.complaints}")
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press and release one key, such as `Tab` or `Enter`."""
        more = {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Tab": 9, "ArrowRight": 39}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                **(more if kind == "keyDown" else {}),
            )  # fmt: skip

    def resize(self, width: int, dark: bool = False, media: str = "") -> None:
        """Give the page a width in pixels, a colour scheme and a medium."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._reading], [], [], _WAIT_S)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._reading, 1 << 16)
            if not piece:
                raise RuntimeError("the browser ended")
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        method, values = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(values["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(values["args"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(values["entry"]))
        elif method == "Network.requestWillBeSent":
            url = values["request"]["url"]
            if not url.startswith("file:") or url.split("#")[0] != values["documentURL"].split("#")[0]:
                self.complaints.append(f"loads {url}")


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in a folder."""
    program = executable()
    assert program is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = (
        f'exec "$0" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run '
        f'--remote-debugging-pipe --user-data-dir="$1" 3<&{theirs_in} 4>&{theirs_out}'
    )
    process = subprocess.Popen(
        ["bash", "-c", command, program, str(folder / "profile")],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(ours_in, ours_out)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(ours_in)
        os.close(ours_out)
