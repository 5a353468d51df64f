// Follows /api/stream for every page. A part `<section id="wrong" data-live="monitor incident:ID">` is asked for anew
// when such an event comes (`kind:value`: an event of which some value is that one, as an id or a change), by the same
// address (or that in `data-live-from`) with the header X-Part; all parts of an address that have changed are asked for
// together. At most once a second, never while the page is hidden, never when nothing happened. Must not: know a page.

import { morph, unpressed } from "./morph.js";

const KINDS = ["monitor", "incident", "agent", "command", "run", "approval", "heal", "trust", "maintenance", "oncall"];
const LEAVING_MS = 5000, LEAST_MS = 1000, PATIENCE_MS = 2500, LONGEST_MS = 30000;
const PULSE_S = 3, SILENCE_MS = 8000;  // a server that stands still keeps its connections: only what it sends tells
const stale = new Set();      // ids of parts that have changed
const repeats = new Map();    // id -> the timer of a part that is asked for again
const last = new Map();       // id -> when it was asked for last
let timer = 0, source, waits = 1000, lostAt = 0, seenAt = Date.now(), ended = false, telling = 0, first = true, sentAt = 0, heardAt = Date.now();

function concerns(part, kind, data) {
  return part.dataset.live.split(/\s+/).some((wish) => {
    const [wanted, value] = wish.split(/:(.*)/s);
    return wanted === kind && (!value || Object.values(data).includes(value));
  });
}

function happened(kind, data) {
  for (const part of document.querySelectorAll("[data-live][id]")) {
    if (concerns(part, kind, data)) stale.add(part.id);
  }
  plan();
}

function everything() {
  for (const part of document.querySelectorAll("[data-live][id]")) stale.add(part.id);
  plan();
}

function plan() {
  if (timer || !stale.size || document.hidden || ended) return;
  const due = Math.min(...[...stale].map((id) => (last.get(id) ?? 0) + LEAST_MS));
  timer = setTimeout(refresh, Math.max(0, due - performance.now()));
}

async function refresh() {
  timer = 0;
  if (document.hidden) return;
  if (Date.now() - sentAt < LEAVING_MS) {  // the answer to a form is the next page; what is here may be gone by then
    timer = setTimeout(refresh, LEAVING_MS);
    return;
  }
  const now = performance.now(), due = new Map();  // address -> ids
  for (const id of stale) {
    const part = document.getElementById(id);
    if (!part) stale.delete(id);
    else if ((last.get(id) ?? -LEAST_MS) + LEAST_MS <= now) {
      last.set(id, now);
      if (reading(part)) continue;
      const place = part.dataset.liveFrom ?? location.pathname + location.search;
      due.set(place, [...(due.get(place) ?? []), id]);
    }
  }
  await Promise.all([...due].map(([place, ids]) => ask(place, ids)));
  plan();
}

// Checks that find all as it was are no events: what holds `data-again="20"` is asked for again after so many seconds.
function repeat(part) {
  clearTimeout(repeats.get(part.id));
  const seconds = part.querySelector("[data-again]")?.dataset.again;
  if (seconds) repeats.set(part.id, setTimeout(() => { stale.add(part.id); plan(); }, seconds * 1000));
}

async function ask(place, ids) {
  for (const id of ids) stale.delete(id);
  try {
    const answer = await fetch(place, { headers: { "X-Part": ids.join(" ") }, redirect: "manual" });
    if (answer.type === "opaqueredirect" || answer.status === 401) return over();
    if (answer.ok) {
      const contents = ids.length > 1 ? await answer.json() : { [ids[0]]: await answer.text() };
      await unpressed();
      show(contents);
      seenAt = Date.now();
    } else if (answer.status >= 500) ids.forEach((id) => stale.add(id));
  } catch {
    ids.forEach((id) => stale.add(id));
    lost();
  }
}

function show(contents) {
  for (const [id, content] of Object.entries(contents)) {
    const part = document.getElementById(id);
    if (!part) continue;
    morph(part, content);
    repeat(part);
    if (id === "counts") tally();
    part.dispatchEvent(new CustomEvent("changed", { bubbles: true }));
  }
}

// Who has marked text in it reads it.
function reading(part) {
  const marked = document.getSelection();
  return marked && !marked.isCollapsed && part.contains(marked.anchorNode);
}

// Counts of the header: also in the title, the icon and the menu.
function tally() {
  const said = document.getElementById("tally")?.dataset;
  if (!said) return;
  document.title = said.title + document.title.replace(/^\(\d[^)]*\) /, "");
  const icon = document.querySelector("link[rel=icon]");
  const wanted = icon.href.replace(/icon-\w+\.svg/, `icon-${said.worst}.svg`);
  if (icon.href !== wanted) icon.href = wanted;
  for (const badge of document.querySelectorAll("[data-badge]")) {
    badge.textContent = said[badge.dataset.badge];
    badge.hidden = said[badge.dataset.badge] === "0";
  }
}

function bar(strong, words, act) {
  let box = document.getElementById("lost");
  if (!box) {
    box = document.createElement("div");
    box.id = "lost";
    box.className = "lost";
    box.setAttribute("role", "status");
    box.append(document.createElement("span"));
    document.querySelector("main").before(box);
  }
  const bold = document.createElement("b");
  bold.textContent = strong;
  box.firstChild.replaceChildren(bold, " " + words);
  if (box.children.length < 2) box.append(act());
}

function lost() {
  if (ended) return;
  lostAt ||= Date.now();
  document.getElementById("live").hidden = true;
  if (!telling) telling = setInterval(tell, 1000);
}

function tell() {
  if (Date.now() - lostAt < PATIENCE_MS) return;
  const seen = new Date(seenAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  bar("Connection lost", `${Math.round((Date.now() - lostAt) / 1000)} s ago. What you see is from ${seen}. Trying again.`, () => {
    const button = document.createElement("button");
    button.className = "btn";
    button.textContent = "Try now";
    button.addEventListener("click", open);
    return button;
  });
}

function found() {
  clearInterval(telling);
  telling = 0;
  document.getElementById("live").hidden = false;
  if (lostAt) {
    document.getElementById("lost")?.remove();
    everything();
  }
  lostAt = 0;
  waits = 1000;
  heardAt = Date.now();
}

// The session is over: nothing goes on here, but what was typed is kept for after signing in.
function over() {
  ended = true;
  source?.close();
  clearInterval(telling);
  document.getElementById("lost")?.remove();
  document.getElementById("live").hidden = true;
  bar("You are signed out.", "What you typed is kept, but no password.", () => {
    const link = document.createElement("a");
    link.className = "btn";
    link.href = "/login?next=" + encodeURIComponent(location.pathname + location.search);
    link.textContent = "Sign in";
    return link;
  });
}

function heard() {
  heardAt = seenAt = Date.now();
  if (lostAt) found();
}

// Nothing was heard for too long: the connection is made anew, and again, until something is.
function listen() {
  if (ended || document.hidden || Date.now() - heardAt < SILENCE_MS) return;
  waits = Math.min(LONGEST_MS, waits * 2);
  heardAt = Date.now() + waits;
  lostAt ||= seenAt;
  lost();
  open();
}

async function open() {
  source?.close();
  // What happened since this page was made comes first; later connections ask for everything anew.
  const since = first ? document.getElementById("tally")?.dataset.since : "";
  first = false;
  source = new EventSource(`/api/stream?pulse=${PULSE_S}` + (since ? "&last_event_id=" + encodeURIComponent(since) : ""));
  source.onopen = found;
  source.addEventListener("pulse", heard);
  source.onerror = async () => {
    lost();
    if (source.readyState !== EventSource.CLOSED) return;
    const answer = await fetch("/api/me", { redirect: "manual" }).catch(() => null);
    if (answer?.status === 401) return over();
    waits = Math.min(LONGEST_MS, waits * 2);
    heardAt = Date.now() + waits;
    setTimeout(open, waits);
  };
  for (const kind of KINDS) source.addEventListener(kind, (event) => { heard(); happened(kind, JSON.parse(event.data)); });
  source.addEventListener("end", async () => {
    source.close();
    const answer = await fetch("/api/me", { redirect: "manual" }).catch(() => null);
    if (answer?.status === 401) return over();
    lost();
    setTimeout(open, waits);
  });
}

document.addEventListener("visibilitychange", () => { heardAt = Date.now(); plan(); });
setInterval(listen, 1000);
document.querySelectorAll("[data-live][id]").forEach(repeat);
addEventListener("submit", (event) => { if (!event.defaultPrevented) sentAt = Date.now(); });
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => { if (event.persisted && !ended) { everything(); open(); } });
open();
