"""`make shots`: a picture of every page at 390, 1440 and 1920 px, light, dark and in print, empty and lived in.
Never a test: it says which pages are wider than the window, and what the console complains of.

python -m tests.browser.shots DIRECTORY [PART OF AN ADDRESS]
"""

import contextlib
import sys
import tempfile
from pathlib import Path

from tests.support.browser import chromium
from tests.support.pages import add_users, look, places, sign_in, size, without_place
from tests.support.process import Serve, free_port
from tests.support.scenery import ADMIN, Reporters, Scenery

WIDTHS = (390, 1440, 1920)
SCHEMES = ("light", "dark")
TALLEST = 4000
CONFIG = {"web": {"login": {"attempts_per_ip": 100}}}


def take(browser, serve, place, name, directory):
    for width in WIDTHS:
        for scheme in (*SCHEMES, "print") if width == 1440 else SCHEMES:
            look(browser, scheme)
            size(browser, width, 900)
            browser.get(serve.url + place)
            wide, height = browser.execute_script(
                "const e = document.documentElement; return [e.scrollWidth, e.scrollHeight]"
            )
            if wide > width:
                print(f"{place} is {wide} px wide at {width} px")
            size(browser, width, min(TALLEST, max(900, height)))
            browser.save_screenshot(str(directory / f"{name}-{width}-{scheme}.png"))
    for line in browser.get_log("browser"):
        if line["level"] != "DEBUG" and not line["message"].endswith("401 (Unauthorized)"):
            print(f"{place}: {line['message']}")


@contextlib.contextmanager
def served(state, work):
    """A service, the ids of what its pages show, and who looks at them."""
    if state == "empty":
        with Serve(work, CONFIG) as serve:
            add_users(serve)
            yield serve, {}, "ada"
        return
    port = free_port()
    scenery = Scenery(f"{work}/data", port).play()
    with Serve(work, CONFIG, port=port, data=f"{work}/data") as serve, Reporters(scenery, serve.url):
        yield serve, scenery.ids, ADMIN


def main(directory, wanted=""):
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for state in ("empty", "filled"):
        with tempfile.TemporaryDirectory() as work, served(state, work) as (serve, ids, who):
            browser = chromium(f"{work}/profile")
            try:
                take(browser, serve, "/login", f"{state}-login", directory)
                sign_in(browser, serve, who)
                print(f"{state}: no picture of {without_place(places(serve, ids))}")
                for place in [each for each in places(serve, ids) if wanted in each]:
                    name = place.partition("?")[0].strip("/").replace("/", "-") or "overview"
                    take(browser, serve, place, f"{state}-{name}", directory)
            finally:
                browser.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
