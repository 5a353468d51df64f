// Rows of a list that are chosen: all of a page at once, how many there are, `x` for the row that `j` and `k` came to.
// Without it each tick works by itself, and the link "Choose all on this page" asks for the page with all of them.
// Must not: know what is done to them.

const ticks = (form) => [...form.elements].filter((field) => field.classList.contains("pick"));

function count(form) {
  const all = ticks(form), chosen = all.filter((tick) => tick.checked).length;
  const words = form.querySelector("[data-chosen]");
  const said = chosen ? `${chosen} chosen` : "";
  if (words && words.textContent !== said) words.textContent = said;
  const link = form.querySelector(".all");
  if (link) link.textContent = chosen && chosen === all.length ? "Choose none" : "Choose all on this page";
}

const count_all = () => document.querySelectorAll("form.many").forEach(count);

document.addEventListener("change", (event) => { if (event.target.classList?.contains("pick")) count(event.target.form); });
document.addEventListener("changed", count_all);  // a live part came anew
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".many .all");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const form = link.closest("form"), all = ticks(form), every = all.every((tick) => tick.checked);
  for (const tick of all) tick.checked = !every;
  count(form);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches?.("input:not(.pick), textarea, select, [contenteditable]")) return;
  document.querySelector('[aria-selected="true"] .pick')?.click();
});
count_all();
