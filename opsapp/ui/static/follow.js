// Output as it is written: a `pre` with `data-follow` shows what its stream sends, until the stream ends; then the part
// around it (`data-after`) is fetched whole. Without script, the page shows what there was when it was asked for.
// A stream that begins at the beginning is marked `data-whole`: it takes the place of what the page has.

const followed = new WeakSet();

function write(box, text) {
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  box.append(text);
  if (atEnd) box.scrollTop = box.scrollHeight;
}

async function fetchWhole(part) {
  const answer = await fetch(location.href, { headers: { "X-Part": part.id } });
  if (answer.ok) part.innerHTML = await answer.text();
}

function follow(box) {
  followed.add(box);
  const source = new EventSource(box.dataset.follow);
  if ("whole" in box.dataset) source.addEventListener("open", () => box.replaceChildren(), { once: true });
  source.addEventListener("output", (event) => write(box, JSON.parse(event.data).text));
  source.addEventListener("log", (event) => write(box, `${JSON.parse(event.data).line}\n`));
  source.addEventListener("end", (event) => {
    source.close();
    const said = JSON.parse(event.data).message;
    if (said) write(box, `[${said}]\n`);
    const part = box.closest("[data-after]");
    if (part) fetchWhole(part);
  });
}

function look() {
  for (const box of document.querySelectorAll("pre[data-follow]")) if (!followed.has(box)) follow(box);
}

look();
new MutationObserver(look).observe(document.querySelector("main"), { childList: true, subtree: true });
