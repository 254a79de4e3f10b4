// What a person sees of a page: each visible part that has an id, with its text and its controls, what has the focus,
// the address, and what the browser stores. test/web/story.ts evaluates it in the page.

function isRow(element) {
  return element.parentElement?.id === 'rows';
}

function isPart(element) {
  return element.id !== '' && element.matches(':not(input, button, select)');
}

function shorten(text, charactersMax) {
  if (text.length <= charactersMax) return text;
  return `${text.slice(0, charactersMax / 2)}… (${text.length} characters)`;
}

/** The words of a label, and not those of a list of values in it. */
function labelOf({ labels }) {
  const texts = Array.from(labels?.[0]?.childNodes ?? []).filter(
    (node) => !node.matches?.('select'),
  );
  return texts.map((node) => node.textContent).join('');
}

(() => {
  const ROWS_MAX = 6;
  const view = {};

  const STATES = { invalid: 'wrong', pressed: 'pressed', disabled: 'off', busy: 'busy' };
  const statesOf = (element) =>
    Object.entries(STATES)
      .filter(([name]) => element.getAttribute(`aria-${name}`) === 'true')
      .map(([, word]) => ` ${word}`)
      .join('');

  const controlOf = (element) => {
    if (element.matches('[type=radio], [type=checkbox]')) return element.checked ? '(x)' : '( )';
    if (element.type === 'password') return element.value === '' ? '<>' : '<***>';
    if (element.matches('select')) return `<${element.selectedOptions[0]?.text}>`;
    if (element.matches('input, textarea')) return `<${shorten(element.value, 80)}>`;
    return `[${textIn(element)}]`;
  };

  function textIn(element) {
    return Array.from(element.childNodes, write)
      .filter((text) => text.trim() !== '')
      .join(' ');
  }

  function write(node) {
    if (node.nodeType === Node.TEXT_NODE) return node.data.replaceAll(/[ \n]+/g, ' ').trim();
    if (node.nodeType !== Node.ELEMENT_NODE) return '';
    if (!node.checkVisibility({ visibilityProperty: true })) return '';
    if (node.matches('button, a[href], summary, input, select, textarea')) {
      return controlOf(node) + statesOf(node);
    }
    if (!isPart(node) && !node.matches('dialog')) return textIn(node);
    const text = textIn(node) + statesOf(node);
    if (isRow(node) && node.parentElement.childElementCount > ROWS_MAX) return '';
    const marks = isRow(node) && node.matches('.new') ? ' new' : '';
    if (text !== '') view[node.id || node.localName] = shorten(text, 1_000) + marks;
    return '';
  }

  view.body = textIn(document.body);
  const rows = [...document.querySelectorAll('#rows tr')];
  if (rows.length > 0) {
    const ids = rows.map((row) => row.querySelector('.id').textContent);
    const chips = new Set(rows.map((row) => row.querySelector('.chip').classList[1]));
    const shown = ids.length > ROWS_MAX ? [...ids.slice(0, 2), '…', ids.at(-1)] : ids;
    view.rows = `${shown.join(' ')}: ${ids.length} ${[...chips].toSorted().join(' ')}`;
  }
  const at = document.activeElement;
  view.focus = at.id || at.ariaLabel || shorten((labelOf(at) || at.textContent).trim(), 80);
  if (at === document.body) delete view.focus;
  if (at.selectionEnd > at.selectionStart) {
    view.selected = shorten(at.value.slice(at.selectionStart, at.selectionEnd), 80);
  }
  view.address = location.pathname + location.search + location.hash;
  view.stored = [
    ...Object.keys(sessionStorage),
    ...Object.keys(localStorage).map((key) => `${key} on this computer`),
  ].join(', ');
  if (view.stored === '') delete view.stored;
  return view;
})();
