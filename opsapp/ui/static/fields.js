// Fields that name things: what begins like the typed words is offered from the API's own list, and lists of words are
// shown as chips. Without it the names are typed, with commas between them.
// Must not: know a form.

const SOURCES = {
  monitor: ["/api/monitoring/endpoints", "name"],
  target: ["/api/monitoring/endpoints", "name"],
  host: ["/api/agents", "label"],
  automation: ["/api/automations", "name"],
};
const waits = new WeakMap();

async function offer(field) {
  const source = SOURCES[field.dataset.of];
  const list = document.getElementById(field.getAttribute("list"));
  const word = field.value.split(",").pop().trim();
  if (!source || !list || !word) return;
  const answer = await fetch(`${source[0]}?limit=12&q=${encodeURIComponent(word)}`, { redirect: "manual" }).catch(() => null);
  if (!answer?.ok) return;
  const before = "several" in field.dataset ? field.value.slice(0, field.value.lastIndexOf(",") + 1) : "";
  list.replaceChildren(...(await answer.json()).map((row) => {
    const option = document.createElement("option");
    const name = field.dataset.by === "id" ? row[source[1]] : row[field.dataset.by];
    option.value = before + (before && " ") + name;
    return option;
  }));
}

document.addEventListener("input", (event) => {
  const field = event.target;
  if (!field.dataset?.of) return;
  clearTimeout(waits.get(field));
  waits.set(field, setTimeout(offer, 150, field));
});

// A list of words as chips: the field itself keeps its text, and stays the one that is sent.
function dress(field) {
  if (field.dataset.dressed) return;
  field.dataset.dressed = "1";
  const box = document.createElement("span");
  box.className = "chips";
  const draw = () => {
    const words = field.value.split(",").map((word) => word.trim()).filter(Boolean);
    box.replaceChildren(...words.map((word, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "tag";
      button.textContent = `${word} ×`;
      button.setAttribute("aria-label", `Take ${word} out`);
      button.addEventListener("click", () => {
        field.value = words.filter((_, other) => other !== at).join(", ");
        draw();
        field.focus();
      });
      return button;
    }));
  };
  field.after(box);
  for (const kind of ["change", "input"]) field.addEventListener(kind, draw);
  draw();
}

const dress_all = () => document.querySelectorAll("input[data-several]").forEach(dress);
dress_all();
new MutationObserver(dress_all).observe(document.querySelector("main"), { childList: true, subtree: true });
