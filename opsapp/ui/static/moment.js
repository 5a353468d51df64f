// The moment: one crosshair through all lanes. Without this, marks, events, spans and both ends are links and fields.
// Pointer, finger and arrow keys read; the mouse drags, two fingers or + and - zoom; Shift with an arrow goes earlier or
// later; j and k go from event to event. What changes the picture changes the address (from, to, at, in UTC).
// An address without a time goes on: its picture is asked for again, unless somebody reads it just then.

let ends = new AbortController(); // of the listeners of the picture that stands there

function dress(mo) {
  const from = Date.parse(mo.dataset.from), to = Date.parse(mo.dataset.to), figure = mo.parentElement;
  const rows = [...figure.querySelectorAll('.data tbody tr')], last = rows.length - 1;
  if (last < 1) return;
  const cells = rows.map((row) => [...row.cells].map((cell) => cell.textContent));
  const heights = rows.map((row) => row.dataset.y.split(' ')), xs = rows.map((row) => Number(row.dataset.x));
  const cross = mo.querySelector('.cross'), flag = mo.querySelector('.flag-at'), dots = mo.querySelectorAll('.dot');
  const wide = Number(flag.querySelector('rect').getAttribute('width')), asked = flag.textContent;
  const places = mo.querySelectorAll('[data-c]:not(circle)'), then = document.getElementById('moment-at');
  const states = [...mo.querySelectorAll('[data-was]')].map((place) => [place, place.dataset.was.split(';').map((part) => part.split(' '))]);
  const fine = to - from < 6e5 ? 19 : 16;
  const iso = (ms) => `${new Date(ms).toISOString().slice(0, fine)}Z`;
  const more = new URLSearchParams(location.search).get('add') === 'runs' ? '&add=runs' : '';
  const address = (start, end, at) => `?from=${iso(start)}&to=${iso(end)}&at=${iso(at)}${more}`;
  const go = (start, end, at) => {
    const short = Math.max(0, 3e5 - (end - start)) / 2; // no closer than what is stored
    location.assign(`${address(start - short, end + short, at)}#moment`);
  };
  const time = (share) => from + share * (to - from);
  const scrub = document.createElement('input');
  Object.assign(scrub, { type: 'range', className: 'scrub', min: 0, max: last, value: mo.dataset.at });
  scrub.setAttribute('aria-label', 'Moment');
  const at = () => time(xs[scrub.value] / 100);
  const show = () => {
    const row = cells[scrub.value], x = xs[scrub.value];
    cross.setAttribute('x1', `${x}%`);
    cross.setAttribute('x2', `${x}%`);
    flag.setAttribute('x', `${x}%`);
    flag.firstElementChild.setAttribute('transform', `translate(${(50 - x) * wide / 100} 0)`);
    flag.querySelector('text').textContent = row[0];
    for (const place of places) place.textContent = row[place.dataset.c];
    dots.forEach((dot, number) => {
      const y = heights[scrub.value][number], known = y !== '-';
      dot.setAttribute('visibility', known ? 'visible' : 'hidden');
      if (known) { dot.setAttribute('cx', `${x}%`); dot.setAttribute('cy', y); }
    });
    for (const [place, was] of states) {
      const [, kind, word] = was.filter((part) => Number(part[0]) <= x).pop() ?? was[0];
      place.className = `st ${kind}`;
      place.firstElementChild.setAttribute('class', `g ${kind}`);
      place.querySelector('use').setAttribute('href', `#g-${kind}`);
      place.lastElementChild.textContent = word;
    }
    scrub.setAttribute('aria-valuetext', row.join(', '));
  };
  let asks = 0;
  const rest = async () => {
    history.replaceState(null, '', address(from, to, at()));
    const mine = ++asks;
    const answer = await fetch(location.href, { headers: { 'X-Part': 'moment-at' } }).catch(() => null);
    if (answer?.ok && then) {
      const text = await answer.text();
      if (mine === asks) then.innerHTML = text;
    }
  };
  const zoom = (by) => go(at() - (to - from) * by / 2, Math.min(Date.now(), at() + (to - from) * by / 2), at());
  const chosen = document.createElementNS('http://www.w3.org/2000/svg', 'rect'), fingers = new Map();
  let begun, moved;
  chosen.setAttribute('class', 'chosen');
  chosen.setAttribute('height', '100%');
  cross.before(chosen);
  const share = (event) => {
    const box = scrub.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const point = (where) => {
    let best = 0;
    xs.forEach((x, number) => { if (Math.abs(x - where * 100) < Math.abs(xs[best] - where * 100)) best = number; });
    scrub.value = best;
    show();
  };
  scrub.addEventListener('input', show);
  scrub.addEventListener('change', rest);
  scrub.addEventListener('pointerdown', (event) => {
    fingers.set(event.pointerId, [share(event), share(event)]);
    if (event.pointerType !== 'mouse' || event.button) return;
    event.preventDefault();
    scrub.focus({ preventScroll: true });
    begun = moved = share(event);
    scrub.setPointerCapture(event.pointerId);
  });
  scrub.addEventListener('pointermove', (event) => {
    if (fingers.has(event.pointerId)) fingers.get(event.pointerId)[1] = share(event);
    if (fingers.size < 2) point(share(event));
    if (begun === undefined) return;
    moved = share(event);
    chosen.setAttribute('x', `${100 * Math.min(begun, moved)}%`);
    chosen.setAttribute('width', `${100 * Math.abs(moved - begun)}%`);
  });
  const stop = () => { fingers.clear(); begun = moved = undefined; chosen.setAttribute('width', 0); };
  scrub.addEventListener('pointerup', (event) => {
    const [left, right] = [...fingers.values()].sort((some, other) => some[0] - other[0]);
    const [low, high] = [Math.min(begun, moved), Math.max(begun, moved)];
    if (right && right[1] - left[1] > 0.02) {
      const wide = (right[0] - left[0]) / (right[1] - left[1]), start = left[0] - left[1] * wide;
      go(time(start), Math.min(Date.now(), time(start + wide)), at());
    } else if (high - low > 0.02) go(time(low), time(high), time((low + high) / 2));
    else if (event.pointerType === 'mouse') { point(share(event)); rest(); }
    stop();
  });
  scrub.addEventListener('pointercancel', stop);
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input:not([type=range]), textarea, select')) return;
    if (event.shiftKey && event.key.startsWith('Arrow') && event.target === scrub) {
      event.preventDefault();
      const by = (to - from) / 4 * (event.key === 'ArrowRight' ? 1 : -1);
      if (to + by <= Date.now()) go(from + by, to + by, at() + by);
    }
    if (event.key === '+') zoom(0.5);
    if (event.key === '-') zoom(2);
    if (event.key === 'j' || event.key === 'k') document.querySelector(`a[rel=${event.key === 'j' ? 'next' : 'prev'}]`)?.click();
  }, { signal: ends.signal });
  mo.append(scrub);
  show();
  flag.querySelector('text').textContent = asked; // the moment of the address, and not the middle of its bucket
}

const LEAST_MS = 5000; // between two pictures
let drawn = performance.now(), waits = 0, due = Infinity, drawing = false;

function again() {
  due = Infinity;
  const part = document.getElementById('moment-live'), mo = part?.querySelector('.mo[data-from]');
  if (!mo || mo.dataset.again === '0' || /[?&](from|at)=/.test(location.search)) return;
  if (drawing || isRead(part)) later(LEAST_MS);
  else draw(part);
}

const isRead = (part) => document.hidden || part.matches(':hover') || part.contains(document.activeElement);

async function draw(part) {
  [drawn, drawing] = [performance.now(), true];
  const text = await fetch(location.href, { headers: { 'X-Part': 'moment-live' }, redirect: 'manual' })
    .then((answer) => answer.ok ? answer.text() : '').catch(() => '');
  drawing = false;
  if (text && !isRead(part) && !/[?&](from|at)=/.test(location.search)) {
    part.innerHTML = text;
    begin();
  } else later(LEAST_MS);
}

// Never later than what was planned before: what changed while a picture was on its way is not on that one.
function later(ms) {
  const at = performance.now() + ms;
  if (at >= due) return;
  due = at;
  clearTimeout(waits);
  waits = setTimeout(again, ms);
}

function begin() {
  ends.abort();
  ends = new AbortController();
  const mo = document.querySelector('.mo[data-from]');
  if (!mo) return;
  dress(mo);
  if (mo.dataset.again !== '0') later(1000 * mo.dataset.again);
}

// What has changed on the page may stand on the axis, too.
document.addEventListener('changed', (event) => {
  if (event.target.id !== 'counts') later(Math.max(0, drawn + LEAST_MS - performance.now()));
});
begin();
