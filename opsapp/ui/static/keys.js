// Keys: `/` and Ctrl-K find anything, `j` and `k` go through a list and Enter opens, `?` shows the keys.
// Must not: take a key from who types.

const typing = (target) => target.matches?.("input:not(.pick), textarea, select, [contenteditable]");
const rows = () => [...document.querySelectorAll("main tbody tr, main .wrong, main .feed li")].filter((row) => row.querySelector("a"));
let chosen = -1;

function go(step) {
  const all = rows();
  if (!all.length) return;
  chosen = Math.min(all.length - 1, Math.max(0, chosen + step));
  for (const row of all) row.removeAttribute("aria-selected");
  all[chosen].setAttribute("aria-selected", "true");
  const link = all[chosen].querySelector("a");
  link.focus({ preventScroll: true });
  all[chosen].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  const find = document.getElementById("find");
  if (find && event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    find.focus();
    find.select();
  } else if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  else if (event.key === "/" && find) { event.preventDefault(); find.focus(); }
  else if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "?") location.assign("/find#keys");
});

// What is found while one types, below the field: the results of /find.
const field = document.getElementById("find");
let palette, asked = 0, wait = 0, answered = "";  // the words that the palette answers
const wanted = () => field.value.trim();

function close() {
  palette?.remove();
  palette = null;
  answered = "";
}

async function look() {
  const words = wanted();
  const mine = ++asked;
  if (!words) return close();
  const answer = await fetch("/find?q=" + encodeURIComponent(words), { headers: { "X-Part": "results" }, redirect: "manual" }).catch(() => null);
  if (!answer?.ok || mine !== asked) return;
  const text = await answer.text();
  if (mine !== asked || document.activeElement !== field) return;
  if (!palette) {
    palette = document.createElement("div");
    palette.className = "palette";
    field.form.append(palette);
  }
  const fresh = new DOMParser().parseFromString(text, "text/html").body;
  palette.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
  answered = words;
}

// What is below the field may still answer what was typed before: then it is asked for first.
async function step(by) {
  if (document.activeElement === field && wanted() !== answered) {
    clearTimeout(wait);
    await look();
    if (wanted() !== answered) return;
  }
  if (!palette) return;
  const links = [field, ...palette.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  links[(at + by + links.length) % links.length].focus();
}

field?.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(look, 150); });
field?.form.addEventListener("keydown", (event) => {
  if (!palette && !wanted()) return;
  if (event.key === "ArrowDown") { event.preventDefault(); step(1); }
  else if (event.key === "ArrowUp") { event.preventDefault(); step(-1); }
  else if (event.key === "Escape" && palette) { close(); field.focus(); }
});
field?.form.addEventListener("focusout", (event) => { if (event.relatedTarget && !field.form.contains(event.relatedTarget)) close(); });
document.addEventListener("pointerdown", (event) => { if (palette && !field.form.contains(event.target)) close(); });
