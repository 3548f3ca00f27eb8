/**
 * The parameters of the page's URL. They are read first and the token of a link is removed from the URL, so that the
 * token does not reach the history, screenshots or referrers.
 */
export interface PageAddress {
  siteKey: string;
  linkToken: string | null;
  isEmbedded: boolean;
  /** Preferred languages of the visitor; the language of the host's page comes first. */
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
