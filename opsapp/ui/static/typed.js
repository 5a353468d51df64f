// What was typed is not lost when the session ends: it is kept in this tab, and put back after signing in. No password,
// nothing hidden, nothing that says of itself that it is secret. Must not: keep anything once the form has come through.

import { touched } from "./morph.js";

const KEY = "opsapp-typed";
const place = location.pathname + location.search;

function gather() {
  const kept = [];
  for (const form of document.querySelectorAll('main form[method="post"]')) {
    for (const field of form.elements) {
      if (!field.name || ["hidden", "password", "file", "submit", "button"].includes(field.type)) continue;
      if (field.hasAttribute("data-secret") || !touched(field)) continue;
      kept.push([field.id, field.type === "checkbox" || field.type === "radio" ? field.checked : field.value]);
    }
  }
  if (kept.length) sessionStorage.setItem(KEY, JSON.stringify({ place, kept }));
}

function restore() {
  const text = sessionStorage.getItem(KEY);
  if (!text) return;
  const said = JSON.parse(text);
  if (said.place !== place) {
    if (new URLSearchParams(location.search).has("said")) sessionStorage.removeItem(KEY);
    return;
  }
  sessionStorage.removeItem(KEY);
  for (const [id, value] of said.kept) {
    const field = document.getElementById(id);
    if (!field) continue;
    if (typeof value === "boolean") field.checked = value;
    else field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    field.closest("details")?.setAttribute("open", "");
  }
}

// A button that draws the form again (a row more, a step up) gets its own answer: what stood where is no use there.
const draws = (button) => button && ["redraw", "do"].includes(button.name);

addEventListener("submit", (event) => { if (!draws(event.submitter) && event.target.method === "post" && event.target.closest("main")) gather(); }, true);
addEventListener("click", (event) => { if (event.target.closest?.('a[href^="/login"]')) gather(); }, true);
restore();
