"""Whether a page is sound, and what somebody does in a browser, with each page on the way being so.

Sound: nothing in the console (a breach of the CSP stands there too), nothing for axe, one h1 and one main, a label for
each field, nothing wider than the window or lying upon another, no word cut in two.
"""

import json
from pathlib import Path

import axe_core_python
from selenium.webdriver.common.by import By

from .browser import arrived, press, text
from .pages import sign_in

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
# The guidelines' rules of the levels A and AA; each finding with where it is.
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
CONTRAST = "color-contrast"  # the one rule that hangs on the scheme, and takes longer than all others together
QUICKLY = {"resultTypes": ["violations"], "preload": False}
ALL = {"runOnly": LEVELS, **QUICKLY}
BY_SIZE = {**ALL, "rules": {CONTRAST: {"enabled": False}}}
BY_SCHEME = {"runOnly": {"type": "rule", "values": [CONTRAST]}, **QUICKLY}
LACKS = r"""
const lacks = [];
for (const selector of ["h1", "main"])
  if (document.querySelectorAll(selector).length !== 1) lacks.push(selector);
for (const input of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
  if (!input.labels.length && !input.getAttribute("aria-label")) lacks.push("label of " + input.name);
for (const row of document.querySelectorAll("table.cards tbody tr")) {
  const cells = [...row.children].filter((cell) => cell.checkVisibility() && cell.innerText.trim());
  const boxes = cells.map((cell) => cell.getBoundingClientRect());
  cells.forEach((cell, at) => {
    if (boxes[at].width < 24 && cell.innerText.trim().length > 3) lacks.push("squeezed: " + cell.innerText);
    for (const box of boxes.slice(at + 1)) {
      const [wide, high] = [["left", "right"], ["top", "bottom"]].map(([low, far]) =>
        Math.min(box[far], boxes[at][far]) - Math.max(box[low], boxes[at][low]));
      if (wide > 1 && high > 1) lacks.push("lies upon another: " + cell.innerText);
    }
  });
}
for (const time of document.querySelectorAll(".feed time, .tl time"))
  if (time.scrollWidth > time.clientWidth + 1) lacks.push("too wide: " + time.innerText);
// No word is cut, and no text lies upon another. Names without an end, code and what floats over the page may be.
const within = (box, owner) => {
  let {left, top, right, bottom} = box;
  for (let at = owner; at && at !== document.documentElement; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.overflowX === "visible" && style.overflowY === "visible") continue;
    const frame = at.getBoundingClientRect();
    left = Math.max(left, frame.left);
    top = Math.max(top, frame.top);
    right = Math.min(right, frame.right);
    bottom = Math.min(bottom, frame.bottom);
  }
  return {left, top, right, bottom};
};
const floats = (at) => at && (["fixed", "sticky"].includes(getComputedStyle(at).position) || floats(at.parentElement));
const UNSEEN = "script, style, option, textarea, svg, noscript";
const SEEN = {opacityProperty: true, visibilityProperty: true};
const texts = [], range = document.createRange();
const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (nodes.nextNode()) {
  const node = nodes.currentNode, owner = node.parentElement;
  if (!node.data.trim() || owner.closest(UNSEEN) || !owner.checkVisibility(SEEN) || floats(owner)) continue;
  range.selectNodeContents(node);
  for (const box of [...range.getClientRects()].map((rect) => within(rect, owner)))
    if (box.right - box.left > 2 && box.bottom - box.top > 3) texts.push({box, owner, words: node.data.trim()});
  if (owner.closest("pre, code")) continue;
  for (const word of node.data.matchAll(/[\p{L}\p{N}]+/gu)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const lines = new Set([...range.getClientRects()].map((rect) => Math.round(rect.top)));
    if (word[0].length <= 20 && lines.size > 1) lacks.push("a cut word: " + word[0]);
  }
}
for (const sign of document.querySelectorAll("svg.g, svg.i")) {
  const box = within(sign.getBoundingClientRect(), sign.parentElement);
  if (sign.checkVisibility(SEEN) && !floats(sign) && box.right - box.left > 2 && box.bottom - box.top > 3)
    texts.push({box, owner: sign, words: "a sign"});
}
texts.sort((first, second) => first.box.top - second.box.top);
texts.forEach(({box, owner, words}, at) => {
  for (let next = at + 1; next < texts.length && texts[next].box.top < box.bottom - 3; next++) {
    const other = texts[next], wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
    if (other.owner !== owner && wide > 2) lacks.push("lies upon another: " + words + " | " + other.words);
  }
});
const page = document.documentElement;
if (page.scrollWidth > window.innerWidth) {
  const reach = (element) => element.getBoundingClientRect().right;
  const widest = [...document.body.querySelectorAll("*")].sort((first, second) => reach(second) - reach(first));
  const named = widest.slice(0, 3).map((each) => `${each.tagName}.${each.className} ${reach(each)} ${each.innerText}`);
  lacks.push("width: " + page.scrollWidth + ": " + named.map((each) => each.slice(0, 160)).join(" | "));
}
if (!page.lang || !document.title) lacks.push("lang or title");
return lacks;
"""
# Both in one step of the browser: first what the page lacks, where that is asked for, then what axe finds. Nothing
# where axe is not there yet: it is sent once to each page.
LOOK = f"""
const [options, whole, done] = arguments, lacking = whole ? (() => {{ {LACKS} }})() : [];
if (window.axe) axe.run(document, JSON.parse(options)).then((said) => done(lacking.concat(said.violations.map(
  (each) => each.id + ": " + each.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")))));
else done(null);
"""


def complaints(browser, status=200):
    """What stands in the console since it was last read. That a page is refused is written there too: `status`."""
    said = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    return [line for line in said if status == 200 or f"status of {status}" not in line]


def findings(browser, options=ALL, whole=False):
    """What axe says, and before it, of the whole page, what it lacks."""
    asked = (LOOK, json.dumps(options), whole)
    said = browser.execute_async_script(*asked)
    if said is None:
        browser.execute_script(AXE)
        said = browser.execute_async_script(*asked)
    return said


def looked_at(browser, options=ALL):
    """Whatever makes the page unsound as it is shown now, in words."""
    return findings(browser, options, whole=True)


def faults(browser, status=200):
    """The same, and what stands in its console."""
    return looked_at(browser) + complaints(browser, status)


def sound(browser, status=200):
    wrong = faults(browser, status)
    assert wrong == [], f"{browser.current_url}: {wrong}"


# A form that no page offers, with the token of this one.
BY_HAND = """
const form = document.createElement("form");
const fields = {csrf_token: document.querySelector("meta[name=csrf-token]")?.content ?? "", ...arguments[1]};
for (const [name, value] of Object.entries(fields)) {
  const input = document.createElement("input");
  [input.type, input.name, input.value] = ["hidden", name, value];
  form.append(input);
}
[form.method, form.action] = ["post", arguments[0]];
document.body.append(form);
form.submit();
"""


class Journey:
    """What one person does in a browser. `status` is what the page that it leads to has to answer."""

    def __init__(self, browser, serve, who=None):
        self.browser, self.serve = browser, serve
        if who is not None:
            sign_in(browser, serve, who)
            sound(browser)

    def go(self, place, status=200):
        self.browser.get(self.serve.url + place)
        sound(self.browser, status)
        return self

    def press(self, selector, status=200):
        press(self.browser, selector)
        sound(self.browser, status)
        return self

    def send_by_hand(self, place, fields, status=403):
        before = self.browser.find_element(By.TAG_NAME, "html")
        self.browser.execute_script(BY_HAND, place, fields)
        arrived(self.browser, before)
        sound(self.browser, status)
        return self

    def text(self, selector="main"):
        return text(self.browser, selector)

    def has(self, selector):
        return bool(self.browser.find_elements(By.CSS_SELECTOR, selector))
