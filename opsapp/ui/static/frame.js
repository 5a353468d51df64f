// What every page has: live parts, times that go on, the reader's zone, keys, and forms that survive the end of a session.
// Everything works without it.

import "./copy.js";
import "./live.js";
import "./fields.js";
import "./keys.js";
import "./lists.js";
import "./steps.js";
import "./typed.js";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.split("; ").includes(`opsapp_zone=${zone}`)) {
  document.cookie = `opsapp_zone=${zone}; path=/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
}

// As opsapp/ui/words.py says it.
function span(seconds) {
  seconds = Math.abs(seconds);
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

const ahead = Date.now() - Date.parse(document.documentElement.dataset.now || new Date().toISOString());

function tick() {
  if (document.hidden) return;
  for (const time of document.querySelectorAll("time[data-ticks]")) {
    const gone = (Date.now() - ahead - Date.parse(time.dateTime)) / 1000;
    const words = time.dataset.ticks === "since" ? span(gone) : gone >= 0 ? `${span(gone)} ago` : `in ${span(gone)}`;
    if (Math.abs(gone) < 2592000 && time.textContent !== words) time.textContent = words;
  }
}
// What is left until a moment (a decision, a window, a pause): as opsapp/ui/shapes/requests.py says it. Each second in the
// last hour, where motion is welcome.
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let downs = 0;

function count_down() {
  downs = 0;
  if (document.hidden) return;
  let least = Infinity;
  for (const time of document.querySelectorAll("time[data-until]")) {
    const left = Number(time.dataset.until) - (Date.now() - ahead) / 1000;
    const clock = `${Math.floor(left / 60)}:${String(Math.floor(left % 60)).padStart(2, "0")}`;
    const words = left <= 0 ? "over" : `${left < 3600 ? clock : span(left)} left`;
    if (time.textContent !== words) time.textContent = words;
    if (left > 0) least = Math.min(least, left);
  }
  if (least < Infinity) downs = setTimeout(count_down, least > 3600 || calm.matches ? 20000 : 1000);
}
count_down();
for (const [where, what] of [[document, "changed"], [document, "visibilitychange"]]) {
  where.addEventListener(what, () => { clearTimeout(downs); count_down(); });
}

setInterval(tick, 5000);
document.addEventListener("visibilitychange", tick);

// On a phone the row of rooms is wider than the screen: the one that is read comes into view.
document.querySelector(".rooms [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// A menu closes when the pointer or the focus goes elsewhere.
for (const kind of ["pointerdown", "focusin"]) {
  document.addEventListener(kind, (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("details.menu[open]");
  if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
});
