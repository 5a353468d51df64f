"use strict";
// Follows /api/stream: every event is listed as it is committed, and the tables' rows follow it.
(function () {
  const KINDS = ["monitor", "incident", "agent", "run", "approval", "heal", "trust"];
  const LONGEST = 200;
  const feed = document.getElementById("feed");
  const following = document.getElementById("following");

  function words(data) {
    const told = [];
    for (const [name, value] of Object.entries(data)) {
      if (value !== null && typeof value !== "object") told.push(name + " " + value);
    }
    return told.join(", ");
  }

  function list(kind, data) {
    const item = document.createElement("li");
    const time = document.createElement("time");
    const now = new Date();
    time.dateTime = now.toISOString();
    time.textContent = now.toISOString().slice(11, 19);
    const name = document.createElement("strong");
    name.textContent = kind;
    item.append(time, " ", name, " ", words(data));
    feed.prepend(item);
    while (feed.children.length > LONGEST) feed.lastElementChild.remove();
  }

  function idOf(kind, data) {
    return String(data.id ?? data[kind + "_id"] ?? data.ledger_id ?? "");
  }

  function show(kind, data) {
    const table = document.querySelector('table[data-kind="' + kind + '"]');
    const id = idOf(kind, data);
    if (!table || !id) return;
    for (const row of table.querySelectorAll("tr[data-id]")) {
      if (row.dataset.id !== id) continue;
      for (const cell of row.querySelectorAll("[data-field]")) {
        const value = data[cell.dataset.field];
        if (value === undefined || value === null) continue;
        cell.textContent = value;
        if (cell.classList.contains("state")) cell.className = "state " + value;
      }
    }
  }

  const source = new EventSource("/api/stream");
  source.onopen = () => { following.textContent = "Following: events appear here as they are committed."; };
  source.onerror = () => { following.textContent = "The connection is gone. Trying again."; };
  source.addEventListener("end", (event) => {
    source.close();
    following.textContent = "The stream has ended: " + (JSON.parse(event.data).reason || "") + ". Load the page again.";
  });
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => {
      const data = JSON.parse(event.data);
      list(kind, data);
      show(kind, data);
    });
  }
})();
