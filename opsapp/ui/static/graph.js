// The graph of dependencies: dragging from a box to another fills in the form below; arrow keys go from box to box.
// Without this module each box is a link to its editor. Must not: send anything; a person presses the button.

const LEAST_DRAG = 8; // pixels
const SVG = "http://www.w3.org/2000/svg";
const box_at = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".graph a[data-name]");
const form = () => document.querySelector("form[data-joins]");
let from = null, dragged = false;

function place(event, graph) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(graph.getScreenCTM().inverse());
  return `${at.x} ${at.y}`;
}

function stop() {
  from?.line?.remove();
  document.querySelectorAll(".graph a.over").forEach((box) => box.classList.remove("over"));
  from = null;
}

function join(target, needed) {
  const fields = form().elements;
  fields.target.value = target;
  fields.depends_on.value = needed;
  form().closest("section").scrollIntoView({ block: "nearest" });
  form().querySelector("button").focus();
}

document.addEventListener("dragstart", (event) => { if (event.target.closest?.(".graph")) event.preventDefault(); });
document.addEventListener("pointerdown", (event) => {
  const box = event.target.closest?.(".graph a[data-name]");
  dragged = false;
  if (!box || !form() || event.pointerType === "touch" || event.button) return; // a finger scrolls
  from = { box, graph: box.closest("svg"), x: event.clientX, y: event.clientY, line: null };
});
document.addEventListener("pointermove", (event) => {
  if (!from || (!from.line && Math.hypot(event.clientX - from.x, event.clientY - from.y) < LEAST_DRAG)) return;
  if (!from.line) {
    from.line = document.createElementNS(SVG, "path");
    from.line.setAttribute("class", "drawn");
    from.start = place({ clientX: from.x, clientY: from.y }, from.graph);
    from.graph.append(from.line);
  }
  dragged = true;
  from.line.setAttribute("d", `M${from.start}L${place(event, from.graph)}`);
  const over = box_at(event);
  document.querySelectorAll(".graph a.over").forEach((box) => box.classList.toggle("over", box === over));
  if (over && over !== from.box) over.classList.add("over");
});
document.addEventListener("pointerup", (event) => {
  if (!from) return;
  const target = from.box.dataset.name, needed = dragged ? box_at(event)?.dataset.name : null;
  stop();
  if (needed && needed !== target) join(target, needed);
});
document.addEventListener("pointercancel", stop);
document.addEventListener("click", (event) => {
  if (dragged && event.target.closest?.(".graph a")) event.preventDefault(); // it was a drag, no visit
  dragged = false;
}, true);

// Arrow keys: the nearest box in that direction. Only one box is in the order of the Tab key.
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function nearest(box, [right, down]) {
  const centre = (each) => {
    const { left, top, width, height } = each.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const [x, y] = centre(box);
  let best = null, least = Infinity;
  for (const each of box.closest("svg").querySelectorAll("a[data-name]")) {
    const [dx, dy] = [centre(each)[0] - x, centre(each)[1] - y];
    const ahead = dx * right + dy * down, aside = Math.abs(dx * down) + Math.abs(dy * right);
    if (ahead > 1 && ahead + 2 * aside < least) [best, least] = [each, ahead + 2 * aside];
  }
  return best;
}

document.addEventListener("keydown", (event) => {
  const box = event.target.closest?.(".graph a[data-name]");
  if (!box || !WAYS[event.key]) return;
  event.preventDefault();
  const next = nearest(box, WAYS[event.key]);
  if (next) rove(next).focus();
});

function rove(first) {
  for (const box of first.closest("svg").querySelectorAll("a[data-name]")) box.setAttribute("tabindex", box === first ? "0" : "-1");
  return first;
}

function begin() {
  for (const graph of document.querySelectorAll(".graph")) {
    const boxes = [...graph.querySelectorAll("a[data-name]")];
    if (boxes.length && !boxes.some((box) => box.getAttribute("tabindex") === "0")) {
      rove(boxes.find((box) => box.hasAttribute("aria-current")) ?? boxes[0]);
    }
  }
}
begin();
document.addEventListener("changed", begin); // the graph came anew
