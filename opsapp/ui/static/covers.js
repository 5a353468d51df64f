// Says what a window would cover while it is chosen: its page has the sentence. Must not: count.

const told = document.getElementById("covered"), form = told?.closest("form");
let asks = 0;

async function tell() {
  const filled = new FormData(form), mine = ++asks;
  const ticked = [...filled.keys()].filter((name) => name.startsWith("scope:")).map((name) => name.slice(6));
  const typed = (filled.get("scope") ?? "").split(",").map((name) => name.trim()).filter(Boolean);
  const chosen = filled.has("scope-whole") ? { everything: "1" } : { covers: [...ticked, ...typed].join(",") };
  const place = `${location.pathname}?${new URLSearchParams(chosen)}`;
  const answer = await fetch(place, { headers: { "X-Part": told.id } }).catch(() => null);
  const sentence = answer?.ok ? await answer.text() : "";
  if (mine === asks) told.innerHTML = sentence;
}

form?.addEventListener("change", (event) => event.target.name?.startsWith("scope") && tell());
if (form && !told.textContent.trim()) tell();
