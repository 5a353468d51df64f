// Fields that name things: what begins like the typed words is offered from the API's own list, and lists of words are
// shown as chips; a colour is chosen beside its text. Without it they are typed, names with commas between them.
// Must not: know a form.

// What `ui/pickers.py` has in KINDS: the lists of each kind, and the field with the name.
const SOURCES = {
  monitor: [["/api/monitoring/endpoints", "name"]],
  target: [["/api/monitoring/endpoints", "name"], ["/api/agents", "label"]],
  host: [["/api/agents", "label"]],
  automation: [["/api/automations", "name"]],
  channel: [["/api/notifications/channels", "name"]],
  user: [["/api/people", "username"]],
  schedule: [["/api/oncall/schedules", "name"]],
  rule: [["/api/healing/rules", "id"]],
  host_tag: [["/api/agents/tags", "name"]],
  tag: [["/api/monitoring/endpoints/tags", "name"], ["/api/agents/tags", "name"]],
};
const MOST = 12;
const waits = new WeakMap();

async function names(source, named, by, word) {
  const answer = await fetch(`${source}?limit=${MOST}&q=${encodeURIComponent(word)}`, { redirect: "manual" }).catch(() => null);
  if (!answer?.ok) return [];
  return (await answer.json()).map((row) => by === "id" ? row[named] || row.hostname : row[by]);
}

async function offer(field) {
  const sources = SOURCES[field.dataset.of];
  const list = document.getElementById(field.getAttribute("list"));
  const typed = field.value;
  const word = typed.split(",").pop().trim();
  if (!sources || !list || !word) return;
  const fits = await Promise.all(sources.map(([source, named]) => names(source, named, field.dataset.by, word)));
  if (field.value !== typed) return;  // more was typed meanwhile, and is asked for by itself
  const before = "several" in field.dataset ? typed.slice(0, typed.lastIndexOf(",") + 1) : "";
  list.replaceChildren(...[...new Set(fits.flat())].slice(0, MOST).map((name) => {
    const option = document.createElement("option");
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

// The text is what is sent: it can be empty, a browser's own field for colours cannot.
function pair(chooser) {
  const text = chooser.parentElement.querySelector("input");
  chooser.hidden = false;
  chooser.addEventListener("input", () => { text.value = chooser.value; });
  text.addEventListener("input", () => { if (/^#[0-9a-f]{6}$/i.test(text.value)) chooser.value = text.value; });
}

function dress_all() {
  document.querySelectorAll("input[data-several]").forEach(dress);
  document.querySelectorAll("[data-colour][hidden]").forEach(pair);
}
dress_all();
new MutationObserver(dress_all).observe(document.querySelector("main"), { childList: true, subtree: true });
