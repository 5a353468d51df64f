// The form of a monitor: another type brings its own fields, and what was filled in stays. Without script the same
// links lead to an empty form of that type.
async function change_kind(event) {
  const link = event.target.closest('.kinds a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const answer = await fetch(link.href, { headers: { Accept: 'text/html' } });
  if (!answer.ok || answer.redirected) { location.assign(link.href); return; }
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const fresh = page.getElementById('form');
  const form = document.getElementById('monitor-form');
  if (!fresh || !form) { location.assign(link.href); return; }
  for (const [name, value] of new FormData(form)) {
    const field = fresh.querySelector(`[name="${CSS.escape(name)}"]`);
    if (!field || field.type === 'hidden') continue;
    if (field.type === 'checkbox') field.checked = true;
    else field.value = value;
  }
  document.getElementById('form').replaceWith(document.adoptNode(fresh));
  document.querySelector('.head .sub')?.replaceChildren(page.querySelector('.head .sub')?.textContent ?? '');
  const once = document.querySelector('#monitor-form [name=once]')?.value;
  history.replaceState({ ...history.state, once }, '', link.href);
  document.querySelector('.kinds [aria-current]')?.focus();
}
document.addEventListener('click', change_kind);
