/** What the address of the page said, read and taken out of it before anything else is done: a link's token is for nobody's history, picture or referrer. */
export interface PageAddress {
  siteKey: string;
  linkToken: string | null;
  isEmbedded: boolean;
}

function takeAddress(): PageAddress {
  const query = new URLSearchParams(location.search);
  const siteKey = query.get('siteKey') ?? '';
  const isEmbedded = query.has('embed');
  const kept = new URLSearchParams({ siteKey, ...(isEmbedded ? { embed: '1' } : {}) });
  history.replaceState(null, '', `${location.pathname}?${kept.toString()}`);
  return { siteKey, linkToken: query.get('token'), isEmbedded };
}

export const address = takeAddress();
