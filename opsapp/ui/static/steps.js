// Who has begun the first steps finds back to them from the pages that they lead to, in this tab, until all is done or
// put away. Without this module the menu leads there.

const KEY = "opsapp-first-steps";
const here = location.pathname;

if (here === "/first-steps") {
  if (document.querySelector("#steps [aria-current=step]")) sessionStorage.setItem(KEY, "open");
  else sessionStorage.removeItem(KEY);
} else if (here === "/") {
  sessionStorage.removeItem(KEY);
} else if (sessionStorage.getItem(KEY) && /^\/(notifications|monitors|agents|statuspage)\b/.test(here)) {
  const link = document.createElement("a");
  link.href = "/first-steps";
  link.textContent = "Back to the first steps";
  const line = document.createElement("p");
  line.className = "thread";
  line.append(link);
  document.querySelector("main .head")?.before(line);
}
