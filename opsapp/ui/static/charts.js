// Reading a chart: a range input lies over it, so mouse, finger and arrow keys all move one crosshair. The figures come
// from the chart's own table. Dragging over a chart that allows it asks for the same page with ?from=…&to=….
// Without this module every chart shows its newest figures, and its table.

const LEAST_DRAG = 12; // pixels

function make_readable(figure) {
  const rows_now = () => [...figure.querySelectorAll('.data tbody tr')]; // a part that comes anew has others
  const plot = figure.querySelector('.plot-in');
  const first = rows_now();
  if (!first.length || !plot || plot.querySelector('.scrub')) return;
  const scrub = document.createElement('input');
  Object.assign(scrub, { type: 'range', className: 'scrub', min: 0, max: first.length - 1, value: first.length - 1 });

  const show = () => {
    const rows = rows_now();
    const cross = plot.querySelector('.cross');
    const dots = plot.querySelectorAll('.dot');
    const places = figure.querySelectorAll('.read [data-c]');
    scrub.max = rows.length - 1;
    const row = rows[scrub.value];
    const cells = [...row.cells].map((cell) => cell.textContent);
    const heights = row.dataset.y.split(' ');
    for (const place of places) place.textContent = cells[place.dataset.c] ?? '';
    if (cross) {
      cross.setAttribute('x1', `${row.dataset.x}%`);
      cross.setAttribute('x2', `${row.dataset.x}%`);
      cross.setAttribute('visibility', 'visible');
    }
    dots.forEach((dot, number) => {
      const known = Boolean(heights[number]) && heights[number] !== '-';
      dot.setAttribute('visibility', known ? 'visible' : 'hidden');
      dot.setAttribute('cx', `${row.dataset.x}%`);
      if (known) dot.setAttribute('cy', heights[number]);
    });
    scrub.setAttribute('aria-valuetext', cells.join(', '));
  };
  const share = (event) => {
    const box = scrub.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const nearest = (event) => {
    const x = share(event) * 100;
    const xs = rows_now().map((row) => Number(row.dataset.x));
    let best = 0;
    xs.forEach((each, number) => { if (Math.abs(each - x) < Math.abs(xs[best] - x)) best = number; });
    scrub.max = xs.length - 1;
    scrub.value = best;
    show();
  };
  scrub.addEventListener('input', show);
  scrub.addEventListener('focus', show);
  scrub.addEventListener('pointermove', nearest);
  scrub.addEventListener('pointerleave', () => plot.querySelector('.cross')?.setAttribute('visibility', 'hidden'));
  const label = document.createElement('label');
  const words = document.createElement('span');
  words.className = 'vh';
  words.textContent = 'Read the chart: arrow keys move through time';
  label.className = 'over';
  label.dataset.added = ''; // the server knows nothing of it: it stays when the chart comes anew
  label.append(words, scrub);
  plot.append(label);
  if (figure.dataset.zoom) make_zoomable(figure, plot, scrub, share);
}

function make_zoomable(figure, plot, scrub, share) {
  const [start, end] = figure.dataset.zoom.split(' ').map(Number);
  let from = null;
  let chosen = null;
  const stop = () => { from = null; chosen?.remove(); chosen = null; };
  scrub.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'mouse' || event.button) return; // a finger reads, and scrolls
    from = { x: event.clientX, at: share(event) };
  });
  scrub.addEventListener('pointermove', (event) => {
    if (!from || Math.abs(event.clientX - from.x) < LEAST_DRAG) return;
    if (!chosen) {
      chosen = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
      chosen.setAttribute('class', 'chosen');
      chosen.setAttribute('y', '0');
      chosen.setAttribute('height', '100%');
      plot.querySelector('.plot').append(chosen);
    }
    const at = share(event);
    chosen.setAttribute('x', `${100 * Math.min(at, from.at)}%`);
    chosen.setAttribute('width', `${100 * Math.abs(at - from.at)}%`);
  });
  scrub.addEventListener('pointerup', (event) => {
    if (!from) return;
    const wide = Math.abs(event.clientX - from.x) >= LEAST_DRAG;
    const [left, right] = [from.at, share(event)].sort((one, other) => one - other);
    stop();
    if (!wide) return;
    const place = new URL(location.href);
    place.searchParams.delete('span');
    place.searchParams.set('from', Math.floor(start + left * (end - start)));
    place.searchParams.set('to', Math.ceil(start + right * (end - start)));
    location.assign(place);
  });
  scrub.addEventListener('pointercancel', stop);
}

const find_all = () => document.querySelectorAll('.chart[data-read]').forEach(make_readable);
find_all();
new MutationObserver(find_all).observe(document.body, { childList: true, subtree: true }); // parts that come anew
