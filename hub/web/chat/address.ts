/** What the address of the page said, read and taken out of it before anything else is done: a link's token is for nobody's history, picture or referrer. */
export interface PageAddress {
  siteKey: string;
  linkToken: string | null;
  isEmbedded: boolean;
  /** Languages of the visitor, that of the host's page first. */
  languages: readonly string[];
}

function readAddress(): PageAddress {
  const query = new URLSearchParams(location.search);
  const siteKey = query.get('siteKey') ?? '';
  const isEmbedded = query.has('embed');
  const lang = query.get('lang');
  const cleanQuery = new URLSearchParams({
    siteKey,
    ...(isEmbedded ? { embed: '1' } : {}),
    ...(lang === null ? {} : { lang }),
  });
  const languages = lang === null ? navigator.languages : [lang, ...navigator.languages];
  history.replaceState(null, '', `${location.pathname}?${cleanQuery.toString()}`);
  return { siteKey, linkToken: query.get('token'), isEmbedded, languages };
}

export const address = readAddress();
