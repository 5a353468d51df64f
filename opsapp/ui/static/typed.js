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
  sessionStorage.removeItem(KEY);  // whoever comes to another page has come through
  if (said.place !== place) return;
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

// Whoever goes back to a form that has made something and sends it again is led to what it made: the form keeps its name
// with its place in the history. Opened anew, or loaded again, it has another.
const names = () => document.querySelectorAll('form[data-makes] input[name="once"]');
const came = performance.getEntriesByType("navigation")[0]?.type;
if (came === "back_forward" && history.state?.once) for (const name of names()) name.value = history.state.once;
else if (names().length) history.replaceState({ ...history.state, once: names()[0].value }, "");
