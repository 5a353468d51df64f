// Makes one piece of a page into another, in place: what is the same stays the same element, so that focus, typed text,
// open details, selections and the place on the screen are kept. Must not: know what the page is about.

const CLICK_MS = 100;  // a finger's click comes after the finger has left
let pressed = false, leaving = 0;
const waiting = [];

function released() {
  clearTimeout(leaving);
  pressed = false;
  for (const goOn of waiting.splice(0)) goOn();
}

addEventListener("pointerdown", () => { clearTimeout(leaving); pressed = true; }, true);
for (const kind of ["pointerup", "pointercancel"]) {
  addEventListener(kind, () => { clearTimeout(leaving); leaving = setTimeout(released, CLICK_MS); }, true);
}
addEventListener("pointermove", (event) => { if (pressed && !event.buttons && event.pointerType === "mouse") released(); }, true);
addEventListener("blur", (event) => { if (event.target === window) released(); });

// A click is lost where its element is replaced, or pushed away, between the press and the release: wait for this.
export function unpressed() {
  return pressed ? new Promise((goOn) => waiting.push(goOn)) : Promise.resolve();
}

const key = (node) => node.nodeType === 1 ? node.id || node.dataset.id || "" : "";

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
}

const typedIn = (field) => field.type === "checkbox" || field.type === "radio"
  ? field.checked !== field.defaultChecked
  : field.tagName === "SELECT"
    ? [...field.options].some((option) => option.selected !== option.defaultSelected)
    : field.value !== field.defaultValue;

export function touched(field) {
  return field.type !== "hidden" && (field === document.activeElement || typedIn(field));
}

function attributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old.tagName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !(name === "open" && old.tagName === "DETAILS")) old.setAttribute(name, value);
  }
}

function change(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.isEqualNode(fresh) || old.hasAttribute("data-keep")) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(old.tagName) && touched(old)) return;
  attributes(old, fresh);
  if (old.tagName === "TEXTAREA") old.value = fresh.value;
  else if (old.tagName === "INPUT" && old.type !== "checkbox" && old.type !== "radio") old.value = fresh.value;
  children(old, fresh);
}

function without(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

export function children(parent, source) {
  const named = new Map();
  for (const child of parent.children) if (key(child)) named.set(key(child), child);
  const names = new Set([...source.children].map(key));
  const added = (node) => node.nodeType === 1 && node.hasAttribute("data-added"); // by a module: no page has it
  const stays = (node) => added(node) || (key(node) && names.has(key(node)));
  let place = parent.firstChild;
  for (const fresh of [...source.childNodes]) {
    const wanted = key(fresh);
    let match = wanted ? named.get(wanted) : null;
    if (match && !alike(match, fresh)) match = null;
    if (!match && !wanted) {
      for (let each = place; each && !match; each = each.nextSibling) {
        if (alike(each, fresh)) match = each;
        else if (key(each)) break;
      }
    }
    if (!match) {
      const made = document.importNode(fresh, true);
      if (made.nodeType === 1 && wanted) made.classList.add("fresh");
      parent.insertBefore(made, place);
      continue;
    }
    while (place !== match && !stays(place)) place = without(place);  // moved, it would lose the focus
    if (match === place) place = place.nextSibling;
    else parent.insertBefore(match, place);
    change(match, fresh);
  }
  while (place) place = added(place) ? place.nextSibling : without(place);
}

// The same, with what stands at the top of the window staying where it is.
export function morph(part, html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  const held = [...part.querySelectorAll("[id], [data-id]")].concat(part)
    .find((each) => each.getBoundingClientRect().bottom > 60);
  const before = held?.getBoundingClientRect().top;
  children(part, fresh);
  if (held?.isConnected && window.scrollY > 0) window.scrollBy(0, held.getBoundingClientRect().top - before);
}
