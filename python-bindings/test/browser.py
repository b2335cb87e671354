# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page in headless Chromium, spoken to through a pipe in the DevTools protocol.

    with Page("report.html", width=1400) as page:
        page.run("document.title")
        page.screenshot()
        assert page.errors == [] and page.requests == []
"""

import base64
import io
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

import numpy as np
from PIL import Image

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PROGRAM = next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A file that is open. What goes wrong in its scripts is in `errors`, what it asks the network
    for in `requests`."""

    def __init__(self, path, width=1400, height=900):
        self.errors, self.requests = [], []
        self._size = (width, height)
        self._number, self._answers, self._events, self._rest = 0, {}, [], b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._open()
        self._enter(pathlib.Path(path).resolve().as_uri())

    def _open(self):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def give():  # Chromium reads from 3 and writes to 4.
            os.dup2(os.dup(to_browser), 63), os.dup2(os.dup(from_browser), 62)
            os.dup2(63, 3), os.dup2(62, 4)

        self._browser = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
             "--force-device-scale-factor=1", "--no-first-run", f"--user-data-dir={self._profile.name}", "about:blank"],
            preexec_fn=give, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser), os.close(from_browser)

    def _enter(self, address):
        target = self._ask("Target.createTarget", {"url": "about:blank"}, session=None)["targetId"]
        self._session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True}, session=None)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._ask(f"{domain}.enable")
        self.resize(*self._size)
        self._ask("Page.navigate", {"url": address})
        self._wait(lambda: "Page.loadEventFired" in self._events, "the page to load")
        self.address = address

    def _send(self, method, parameters, session):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._number

    def _ask(self, method, parameters=None, session=""):
        number = self._send(method, parameters, self._session if session == "" else session)
        self._wait(lambda: number in self._answers, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _wait(self, isDone, what, seconds=120):
        end = time.monotonic() + seconds
        while not isDone():
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError(f"Chromium has {'ended' if ready else 'not answered'}: {what}")
            *messages, self._rest = (self._rest + chunk).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        if "id" in message:
            self._answers[message["id"]] = message
            return
        method, parameters = message["method"], message["params"]
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(str(parameters["args"]))
        elif method == "Network.requestWillBeSent":
            address = parameters["request"]["url"]
            if not address.startswith(("data:", "blob:")):
                self.requests.append(address)

    def resize(self, width, height):
        """Of the window."""
        self._ask("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def run(self, expression):
        """The value of JavaScript, awaited if it is a promise."""
        answer = self._ask("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        """Moves, presses or releases the mouse: "mouseMoved", "mousePressed", "mouseReleased"."""
        self._ask("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def drag(self, begin, end):
        """From (x, y) to (x, y) with the left button."""
        button = {"button": "left", "buttons": 1, "clickCount": 1}
        self.mouse("mouseMoved", *begin)
        self.mouse("mousePressed", *begin, **button)
        for part in (0.5, 1):
            self.mouse("mouseMoved", *(a + part * (b - a) for a, b in zip(begin, end)), **button)
        self.mouse("mouseReleased", *end, **button)

    def settle(self, seconds=0.3):
        """Lets timers of the page pass."""
        self.run(f"new Promise(done => setTimeout(done, {seconds * 1000}))")

    def until(self, look, seconds=30):
        """The first of the values of `look()` that is true, or the last one."""
        end = time.monotonic() + seconds
        while not (found := look()) and time.monotonic() < end:
            self.settle(0.1)
        return found

    def place(self, selector):
        """The (x, y, width, height) of an element in the page."""
        return self.run(f"(r => [r.x + scrollX, r.y + scrollY, r.width, r.height])"
                        f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")

    def screenshot(self, selector="body", file=None):
        """The pixels of an element: an array [rows, columns, 3]."""
        x, y, width, height = self.place(selector)
        png = base64.b64decode(self._ask("Page.captureScreenshot", {
            "format": "png", "captureBeyondViewport": True,
            "clip": {"x": x, "y": y, "width": width, "height": height, "scale": 1}})["data"])
        if file:
            pathlib.Path(file).write_bytes(png)
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._write), os.close(self._read)
        self._browser.terminate()
        self._browser.wait()
        self._profile.cleanup()


def share(pixels, colour):
    """Which part of the pixels has a colour such as "#d1404a", or one that no eye tells from it."""
    wanted = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)])
    return float((np.abs(pixels.astype(int) - wanted).max(axis=-1) <= 3).mean())
