/** The address of the site as the browser shows it, also behind a proxy that adds a path prefix. Ends in a slash. */
export const SITE = new URL(document.body.dataset['root'] || './', document.baseURI).href;

/** Shows this address in the samples of a service that does not know its own. */
export function fillSite(): void {
  for (const place of document.querySelectorAll('.site')) place.textContent = SITE.slice(0, -1);
}
