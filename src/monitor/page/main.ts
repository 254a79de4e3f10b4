// Replaces the figures with those of a newer page, until the reader pauses.

const figures = () => document.getElementById('figures');
const state = document.getElementById('state');
const pause = document.getElementById('pause');
const intervalMs = Number(figures()?.dataset['interval']);
let isPaused = false;

function update(): void {
  // The browser parses the page itself: the policy of the page allows no text to become markup.
  const request = new XMLHttpRequest();
  request.open('GET', './');
  request.responseType = 'document';
  request.timeout = intervalMs;
  request.addEventListener('loadend', () => {
    const newer = request.responseXML?.getElementById('figures');
    if (newer) figures()?.replaceWith(newer);
    say(newer ? '' : 'The service does not respond. These are its last figures.');
  });
  request.send();
}

/** A message is set only when it changes, because each time it is read out. */
function say(text: string): void {
  if (state !== null && state.textContent !== text) state.textContent = text;
}

if (pause !== null) {
  pause.hidden = false;
  pause.addEventListener('click', () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? 'Resume' : 'Pause';
    say(isPaused ? 'Paused.' : '');
    if (!isPaused) update();
  });
}
setInterval(() => {
  if (!isPaused && !document.hidden) update();
}, intervalMs);
