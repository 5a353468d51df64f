// Files of a host. A download is asked for by its first byte, so that a refusal is told on the page; then the browser
// takes it as any download. An upload is sent by script, for the API reads it as it comes. Both forms say what came of it.

function tell(form, words, kind) {
  const place = form.querySelector("[role=status]");
  place.textContent = words;
  place.className = `st ${kind}`;
}

async function refusalOf(answer) {
  const said = await answer.json().catch(() => ({}));
  return Object.values(said.fields ?? {}).length
    ? Object.entries(said.fields).map(([name, words]) => `${name}: ${words}`).join("; ")
    : (said.error ?? `The service answered ${answer.status}.`);
}

async function download(form) {
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  tell(form, "Asking the host…", "heal");
  const answer = await fetch(address, { headers: { Range: "bytes=0-0" } });
  // An empty file has no first byte: 416, and it is there all the same.
  if (!answer.ok && answer.status !== 416) return tell(form, await refusalOf(answer), "bad");
  tell(form, "The download has begun.", "ok");
  location.assign(address);
}

function upload(form) {
  const sent = new XMLHttpRequest();
  sent.open("POST", form.action);
  sent.setRequestHeader("X-CSRF-Token", form.dataset.csrf);
  sent.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) tell(form, `Sending, ${Math.floor((100 * event.loaded) / event.total)} %`, "heal");
  });
  sent.addEventListener("load", async () => {
    form.querySelector("button").disabled = false;
    const answer = new Response(sent.responseText, { status: sent.status });
    if (!answer.ok) return tell(form, await refusalOf(answer), "bad");
    const stored = await answer.json();
    tell(form, `Stored as ${stored.path}, ${stored.size} bytes. The host has checked its hash.`, "ok");
  });
  sent.addEventListener("error", () => {
    form.querySelector("button").disabled = false;
    tell(form, "The connection ended before the file was stored.", "bad");
  });
  const body = new FormData();
  body.append("dest", form.elements.dest.value);
  body.append("file", form.elements.file.files[0]);
  form.querySelector("button").disabled = true;
  tell(form, "Sending…", "heal");
  sent.send(body);
}

for (const [name, act] of Object.entries({ download, upload }))
  for (const form of document.querySelectorAll(`form[data-file=${name}]`)) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act(form);
    });
    form.querySelector("button").disabled = false;
  }
