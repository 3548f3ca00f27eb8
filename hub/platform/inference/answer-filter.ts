import { cleanWithoutMarks } from './marked-text.ts';
import { withoutHidden } from './untrusted-text.ts';

/**
 * Filters model output for programs that load pictures and make links clickable. An injected prompt could make a model
 * write an address of the attacker with data from the prompt at its end. So all pictures are removed, and an address is
 * kept only when it is exactly one of the given addresses.
 */

const linkRemoved = '[link removed]';
/**
 * Top-level domains under which anyone can register a name. Messengers turn such names into links and look them up,
 * and a subdomain can carry data.
 */
const commonTlds =
  'com|net|org|info|biz|io|dev|app|xyz|top|site|online|page|link|click|live|shop|store|club|pro|icu|vip|me|co|ai|ru|cn|de|uk|eu|fr|nl|it|es|be|ch|at|se|no|pl|br|jp|kr|us|in|pw|tk|ml|ga|cf|gq|ws|to|ly|gl|gd|cc|sh';
/** Top-level domains that are also file extensions. A single name before one of them counts as a file name. */
const ambiguousTlds = 'cc|sh';
/** File extensions that are not top-level domains: `Node.js/Express` is not an address. */
const fileExtensions =
  'js|ts|jsx|tsx|mjs|json|html?|css|txt|pdf|csv|xml|ya?ml|php|exe|jar|java|cpp|png|jpe?g|gif|docx?|xlsx?';
const punctuation = String.raw`[.,;:!?'"*_~\x60)\]}|]`;
/** Path, query or fragment after a host. A question mark that only ends a sentence does not begin a query. */
const pathOrQuery = String.raw`(?:/|[?#](?!${punctuation}{0,20}(?:\s|$)))[^\s<>"\x60]{0,2000}`;
const mail = String.raw`(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,10}\p{L}[\p{L}\p{N}-]{1,62}(?![\p{L}\p{N}-]|\.[\p{L}\p{N}]|(?::\d{1,5})?${pathOrQuery})`;
const name = String.raw`(?<![\p{L}\p{N}-])[\p{L}\p{N}-]{1,63}\.(?!(?:${ambiguousTlds})(?![\p{L}\p{N}-]))(?:${commonTlds})(?![\p{Script=Latin}\p{N}@(]|[.-][\p{L}\p{N}])`;
const address = new RegExp(
  [
    // Mail addresses are kept: showing one sends nothing.
    `(?<mail>${mail})`,
    // Scheme and slashes, also with backslashes that Markdown would remove.
    String.raw`[a-z][a-z0-9+.-]{0,30}\\?:\\?[/\\]\\?[/\\][^\s<>"\x60]{0,2000}`,
    // Without a scheme.
    String.raw`(?<!:)//[\p{L}\p{N}-]{1,63}\.[^\s<>"\x60]{0,2000}`,
    // URLs that contain their content.
    String.raw`(?<![a-z])(?:(?:javascript|vbscript|file|blob):(?=\S)|data:(?=[^\s,]{0,100}[,;]))[^\s<>"\x60]{0,2000}`,
    // As typed by people and recognized by messengers.
    String.raw`www\.[^\s<>"\x60]{0,2000}`,
    String.raw`(?<![\p{L}\p{N}-])(?:[\p{L}\p{N}-]{1,63}\.){1,10}(?!(?:${fileExtensions})(?![\p{L}\p{N}-]))\p{L}[\p{L}\p{N}-]{1,62}(?::\d{1,5})?${pathOrQuery}`,
    // IPv4 addresses. A single number after the slash is a network size, as in 10.0.0.0/8.
    String.raw`(?<![\p{L}\p{N}.-])(?:\d{1,3}\.){3}\d{1,3}(?!/\d{1,2}(?:${punctuation}|\s|$))(?::\d{1,5})?${pathOrQuery}`,
    String.raw`(?<![\p{L}\p{N}-])(?:[\p{L}\p{N}-]{1,63}\.){2,10}(?:${commonTlds})(?![\p{Script=Latin}\p{N}]|[.-][\p{L}\p{N}])`,
    `(?<name>${name})`,
  ].join('|'),
  'giu',
);
const trailing = new RegExp(`${punctuation}{1,20}$`);

/** Converts characters that programs accept in hosts to ASCII, one for one: full-width letters, digits and dots. */
const normalizeSigns = (text: string): string =>
  text
    // One dot leader and small full stop: Unicode normalization makes them the dot of a host.
    .replaceAll(/[\u2024\uFE52]/g, '.')
    .replaceAll(/[\uFF0D-\uFF1A\uFF20-\uFF3A\uFF41-\uFF5A]/g, (sign) =>
      String.fromCharCode(sign.charCodeAt(0) - 0xfee0),
    )
    .replaceAll(/(?<=[A-Za-z0-9])[\u3002\uFF61](?=[A-Za-z0-9])/g, '.');

/** Normalizes an address for comparison: host in lower case, no slash at the end. */
function normalizeAddress(found: string): string {
  const bare = found.replace(/^www\./i, 'https://www.');
  const parts = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)([^]*)/i.exec(
    /^[a-z][a-z0-9+.-]*:/i.test(bare) ? bare : `https://${bare}`,
  );
  const [, origin = '', rest = ''] = parts ?? [];
  return parts === null ? bare : `${origin.toLowerCase()}${rest.replace(/\/$/, '')}`;
}

/** Extracts the addresses that the model may repeat from the texts of its prompt. */
export function addressesIn(texts: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const text of texts)
    for (const { 0: whole, groups } of normalizeSigns(withoutHidden(text)).matchAll(address)) {
      if (groups?.['mail'] !== undefined) continue;
      const permitted = normalizeAddress(whole.replace(trailing, ''));
      found.add(permitted);
      // The site of a permitted page is permitted, too.
      const site = /^https?:\/\/[^/?#]+/.exec(permitted)?.[0];
      if (site !== undefined) found.add(site);
    }
  return found;
}

/** Longest filtered answer. The rest is cut off to limit the time. */
const maxCharacters = 64 * 1024;

/** Limit of the positions in an address candidate at which another end is tried. */
const maxEnds = 20;

/** Length of the permitted address at the start of a candidate; 0 when there is none. */
function allowedLength(found: string, permitted: ReadonlySet<string>): number {
  const end = trailing.exec(found)?.[0].length ?? 0;
  if (permitted.has(normalizeAddress(found)) || permitted.has(normalizeAddress(found.slice(0, found.length - end))))
    return found.length;
  let ends = 0;
  // For example the target of a link, with the text after its bracket.
  for (const { index } of found.matchAll(/[)\]}'|]/g)) {
    if (permitted.has(normalizeAddress(found.slice(0, index)))) return index + 1;
    ends += 1;
    if (ends === maxEnds) break;
  }
  return 0;
}

/** Returns whether a position is in a code span or block, where programs make no links. Positions must be ascending. */
function codeAt(text: string): (at: number) => boolean {
  const spans = [...text.matchAll(/```[^]*?```|`[^`\n]+`/g)].map(({ 0: code, index }) => [index, index + code.length]);
  let next = 0;
  return (at) => {
    while (next < spans.length && (spans[next]?.[1] ?? 0) <= at) next += 1;
    return (spans[next]?.[0] ?? Number.POSITIVE_INFINITY) <= at;
  };
}

/** Inserts a space before the top-level domain of a bare host name, so that programs make no link of it. */
function separateHost(found: string): string {
  const dot = Math.max(
    ...['.', '\uFF0E', '\u3002', '\uFF61', '\u2024', '\uFE52'].map((sign) => found.lastIndexOf(sign)),
  );
  const [before, end] = [found.slice(0, dot), found.slice(dot)];
  // A sentence end without the following space.
  if (/\p{Ll}$/u.test(before) && /^.\p{Lu}\p{Ll}+$/u.test(end)) return `${before}${end[0] ?? ''} ${end.slice(1)}`;
  return `${before} ${end}`;
}

/** Removes all addresses that are not permitted. Text directly after a permitted address is separated by a space. */
function removeUnknownAddresses(text: string, permitted: ReadonlySet<string>): string {
  const scan = new RegExp(address);
  const read = normalizeSigns(text);
  const isCode = codeAt(text);
  let kept = '';
  let at = 0;
  for (let match = scan.exec(read); match !== null; match = scan.exec(read)) {
    const [found] = match;
    const isMail = match.groups?.['mail'] !== undefined;
    const length = isMail ? found.length : allowedLength(found, permitted);
    const shown = text.slice(match.index, match.index + (length === 0 ? found.length : length));
    kept += text.slice(at, match.index);
    at = match.index + shown.length;
    if (length > 0) kept += `${shown}${length < found.length ? ' ' : ''}`;
    else if (match.groups?.['name'] === undefined) kept += `${linkRemoved}${trailing.exec(found)?.[0] ?? ''}`;
    else kept += isCode(match.index) ? shown : separateHost(shown);
    scan.lastIndex = at;
  }
  return kept + text.slice(at);
}

/** The addresses in a text that are not permitted. */
const unknownAddressesIn = (text: string, permitted: ReadonlySet<string>): string[] =>
  [...normalizeSigns(text).matchAll(address)]
    .filter(({ 0: found, groups }) => groups?.['mail'] === undefined && allowedLength(found, permitted) === 0)
    .map(({ 0: found, index }) => text.slice(index, index + found.length));

/**
 * Filters an answer of a model. The result has no pictures, no HTML tags and no addresses except the permitted ones.
 * Pictures become their alternative text. A link to another site becomes its text with `[link removed]`, and so does a
 * bare address. A host name such as `evil.com` becomes `evil .com`, which programs do not turn into a link. Reference
 * links become text.
 */
export function filterAnswer(answer: string, permitted: ReadonlySet<string>): string {
  const text = withoutHidden(answer.slice(0, maxCharacters))
    .replaceAll(/(?<!!)!+(?=\[)/g, '')
    .replaceAll(/<(?=[\p{L}/!?])/gu, '< ')
    .replaceAll(']:', '] :');
  const links = removeUnknownAddresses(text, permitted).replaceAll(
    /\]\(([^\s()]{0,2000}\))?/g,
    (link, target: string | undefined) =>
      target !== undefined && permitted.has(normalizeAddress(target.slice(0, -1))) ? link : `] (${target ?? ''}`,
  );
  return cleanWithoutMarks(
    links,
    (bare) => unknownAddressesIn(bare, permitted),
    (bare) => removeUnknownAddresses(bare, permitted),
  );
}
