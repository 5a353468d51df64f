/* The public page with script: times as the reader's clock has them, and what a day was under finger or arrow keys.
   Everything is there without it: times in the page's zone, days in the table behind a service's name. */
const language = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
const forms = {
  clock: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  day: { weekday: "short", day: "numeric" },
};
const hour = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
const today = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "day");
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
for (const time of document.querySelectorAll("time[data-f]")) {
  const at = new Date(time.dateTime);
  const form = { ...forms[time.dataset.f] };
  if (at.getFullYear() !== new Date().getFullYear() && form.month) form.year = "numeric";
  const isToday = form.hour && at.toDateString() === new Date().toDateString();
  time.textContent = isToday ? `${today} ${hour.format(at)}` : new Intl.DateTimeFormat(language, form).format(at);
  time.title = exact.format(at);
}
for (const words of document.querySelectorAll("[data-zone]")) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  words.textContent = `Times are in your time zone (${zone.replaceAll("_", " ")}).`;
}

const DAYS = 90;
const list = document.querySelector("[data-days]");
const named = new Intl.DateTimeFormat(language, { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });

/* `12:99.93:1` is day 12, its uptime and its incidents; `0-78` is nothing known. Days that are not named were up. */
function said(component, day) {
  for (const odd of (component.dataset.odd || "").split(",")) {
    const [days, uptime, incidents] = odd.split(":");
    const [first, last = first] = days.split("-").map(Number);
    if (!days || day < first || day > last) continue;
    if (uptime === "?") return "see the page of this service";
    if (!uptime) return "no data";
    return `up ${uptime} %` + (incidents > 0 ? `, ${incidents} incident${incidents === "1" ? "" : "s"}` : "");
  }
  return "up 100 %";
}

function read(bars, day) {
  const component = bars.closest(".comp");
  const at = Math.max(0, Math.min(DAYS - 1, day));
  const date = new Date(Date.parse(list.dataset.days) - (DAYS - 1 - at) * 86400000);
  let line = component.querySelector(".dayread");
  if (!line) {
    line = document.createElement("p");
    line.className = "dayread";
    component.append(line);
  }
  const when = document.createElement("b");
  when.textContent = named.format(date);
  line.replaceChildren(when, ` ${said(component, at)}`);
  bars.setAttribute("aria-valuenow", at);
  bars.setAttribute("aria-valuetext", line.textContent);
}

for (const bars of list ? list.querySelectorAll(".comp .bars") : []) {
  bars.setAttribute("tabindex", "0");
  bars.setAttribute("role", "slider");
  bars.setAttribute("aria-valuemin", "0");
  bars.setAttribute("aria-valuemax", String(DAYS - 1));
  bars.setAttribute("aria-valuenow", String(DAYS - 1));
}
function under(event) {
  const bars = event.target.closest && event.target.closest(".comp .bars");
  if (!bars) return;
  const box = bars.getBoundingClientRect();
  read(bars, Math.floor(((event.clientX - box.left) / box.width) * DAYS));
}
if (list) {
  list.addEventListener("pointermove", under);
  list.addEventListener("pointerdown", under);
  list.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -7, ArrowUp: 7, Home: -DAYS, End: DAYS };
    const bars = event.target.closest(".comp .bars");
    if (!bars || !(event.key in steps)) return;
    event.preventDefault();
    read(bars, Number(bars.getAttribute("aria-valuenow")) + steps[event.key]);
  });
  list.addEventListener("focusin", (event) => {
    const bars = event.target.closest(".comp .bars");
    if (bars && !bars.closest(".comp").querySelector(".dayread")) read(bars, DAYS - 1);
  });
}
