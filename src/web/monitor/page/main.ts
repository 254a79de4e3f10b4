// Replaces the figures with those of a newer page, until the reader pauses.

const TIMEOUT_MS = 10_000;

const figures = () => document.getElementById('figures');
const state = document.getElementById('state');
const pause = document.getElementById('pause');
const intervalMs = Number(figures()?.dataset['interval']);
let isPaused = false;
let isUpdating = false;

function update(): void {
  // The browser parses the page itself: the policy of the page allows no text to become markup.
  const request = new XMLHttpRequest();
  request.open('GET', './');
  request.responseType = 'document';
  request.timeout = TIMEOUT_MS;
  isUpdating = true;
  request.addEventListener('loadend', () => {
    isUpdating = false;
    if (isPaused) return;
    const newer = request.responseXML?.getElementById('figures');
    if (newer) figures()?.replaceWith(newer);
    showLocalTime();
    say(newer ? '' : 'The service does not respond. These are its last figures.');
  });
  request.send();
}

/** The service writes UTC, because it does not know where the reader is. */
function showLocalTime(): void {
  const local = document.getElementById('local');
  const at = new Date(document.querySelector('time')?.dateTime ?? '');
  if (local === null || Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) return;
  local.textContent = ` (${at.toLocaleTimeString([], { hourCycle: 'h23' })} local time)`;
}

/** Sets a message only if it changed, because screen readers read it out each time. */
function say(text: string): void {
  if (state === null || state.textContent === text) return;
  state.textContent = text;
  state.classList.toggle('lost', text !== '' && !isPaused);
}

showLocalTime();
if (pause !== null) {
  pause.hidden = false;
  pause.addEventListener('click', () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? 'Resume' : 'Pause';
    say(isPaused ? 'Paused.' : '');
    if (!isPaused && !isUpdating) update();
  });
}
setInterval(() => {
  if (!isPaused && !isUpdating && !document.hidden) update();
}, intervalMs);
