"""Check every page of a running gateway in a real browser, and keep a screenshot of each.

    python scripts/screenshots.py --base-url http://127.0.0.1:8700 --out state/screenshots

Signs in with the key in `--key-file`, and opens each page in headless Chromium with JavaScript on
and off, at the widths of a desktop and of a telephone. Exits 1 if a page requested anything outside
the gateway, answered with an error, or made the browser complain (as of a forbidden script or
style). Chromium resolves no name but the gateway's own.
"""

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By

from gateway.surfaces.web.doors import WATCH
from gateway.surfaces.web.pages.table import PAGES as ROWS

PACKAGES = ("chromium", "chromium-driver")
WIDTHS = (1280, 360)
FLAGS = (
    "--headless",
    "--no-sandbox",  # the pages are our own, and as root Chromium refuses its sandbox
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-proxy-server",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    f"--window-size={WIDTHS[0]},1000",
)
SIGN_IN = "/sign-in"
PAGES = tuple(address for row in ROWS for address in row.addresses if row.action == WATCH)
OUTCOMES = ("filled", "rejected_by_broker", "rejected", "held", "no_trade", "no_forecast")
OWN_SCHEMES = ("data", "about", "chrome", "devtools")


def main() -> int:
    """Check the pages; return 0 if every one was clean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--base-url", default="http://127.0.0.1:8700")
    parser.add_argument("--out", type=Path, default=Path("state/screenshots"))
    parser.add_argument("--key-file", type=Path, default=Path("state/keys/approver.token"))
    arguments = parser.parse_args()
    base = arguments.base_url.rstrip("/")
    key = arguments.key_file.read_text().strip()
    browser, driver = find_browser()
    arguments.out.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    seen = 0
    for scripts in (True, False):
        with tempfile.TemporaryDirectory(prefix="countersign-browser-") as profile:
            chromium = open_browser(browser, driver, profile)
            try:
                if not scripts:
                    switch = {"value": True}
                    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", switch)
                for path in (SIGN_IN, *signed_in(chromium, base, key)):
                    for width in WIDTHS:
                        name = file_name(path, width, scripts=scripts)
                        found = look(chromium, base, path, arguments.out / name, width)
                        where = f"{path} (width {width}, scripts {'on' if scripts else 'off'})"
                        faults += [f"{where}: {f}" for f in found]
                        seen += 1
                        print(f"{'FAULT' if found else 'ok':5} {name}")
            finally:
                chromium.quit()
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    print(f"{seen} pages seen, {len(faults)} faults; pictures in {arguments.out}")
    return 1 if faults or not seen else 0


def find_browser() -> tuple[str, str]:
    """Return the paths of Chromium and its driver; install Debian's packages if possible."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            sys.exit(f"not run: install the packages {' and '.join(PACKAGES)} first")
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        sys.exit("not run: Chromium could not be installed")
    return browser, driver


def open_browser(browser: str, driver: str, profile: str) -> WebDriver:
    """Start a browser with a new profile that logs every request."""
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def signed_in(chromium: WebDriver, base: str, key: str) -> Iterator[str]:
    """Sign in, then yield the pages."""
    chromium.get(base + SIGN_IN)
    chromium.find_element(By.NAME, "key").send_keys(key)
    chromium.find_element(By.CSS_SELECTOR, ".sign-in button").click()
    if chromium.current_url.rstrip("/") != base:
        sys.exit(f"the key was not taken: {chromium.current_url}")
    yield from page_paths(chromium, base)


def page_paths(chromium: WebDriver, base: str) -> Iterator[str]:
    """Yield the fixed pages, then one decision per outcome."""
    yield from PAGES
    taken: set[str] = set()
    for outcome in OUTCOMES:
        chromium.get(f"{base}/?outcome={outcome}")
        for path in re.findall(r'href="(/decisions/[^"?#]+)"', chromium.page_source):
            if path not in taken:
                taken.add(path)
                yield path
                break


def look(chromium: WebDriver, base: str, path: str, picture: Path, width: int) -> list[str]:
    """Open one page, save its picture, and return its faults."""
    for kind in ("performance", "browser"):
        chromium.get_log(kind)  # drop what earlier pages left
    screen = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    chromium.get(base + path)
    size = chromium.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    shot = chromium.execute_cdp_cmd(
        "Page.captureScreenshot",
        {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": size["height"], "scale": 1},
        },
    )
    picture.write_bytes(base64.b64decode(shot["data"]))
    faults = []
    if size["width"] > width:
        faults.append(f"the page is {size['width']} wide, more than {width}")
    faults += [
        f"the browser says: {entry['message']}"
        for entry in chromium.get_log("browser")
        if entry["level"] in {"SEVERE", "WARNING"}
    ]
    return faults + list(network_faults(chromium, base))


def network_faults(chromium: WebDriver, base: str) -> Iterator[str]:
    """Yield requests to foreign hosts, and answers that are errors."""
    own = urlsplit(base).netloc
    for entry in chromium.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            parts = urlsplit(url)
            if parts.scheme not in OWN_SCHEMES and parts.netloc != own:
                yield f"asked a foreign host: {url}"
        elif message["method"] == "Network.responseReceived":
            answer = message["params"]["response"]
            if answer["status"] >= 400:  # noqa: PLR2004 - HTTP's errors begin here
                yield f"answered {answer['status']}: {answer['url']}"
        elif message["method"] == "Network.loadingFailed":
            yield f"failed to load: {message['params'].get('errorText', 'unknown')}"


def file_name(path: str, width: int, *, scripts: bool) -> str:
    """Return the picture's file name."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-") or "decisions"
    return f"{plain}.{width}{'' if scripts else '.no-scripts'}.png"


if __name__ == "__main__":
    sys.exit(main())
