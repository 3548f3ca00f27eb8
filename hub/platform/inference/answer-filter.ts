import { cleanWithoutMarks } from './marked-text.ts';
import { withoutHidden } from './untrusted-text.ts';

/**
 * What comes back from a model may be shown by a program that fetches pictures and follows links. An address is a way out: whoever gets a model to write one of their own, with
 * something from its prompt at the end, has read that. So no picture passes, and an address only where it was given, letter for letter.
 */

const linkRemoved = '[link removed]';
/** Ends of names under which anybody gets one of their own; a longer name before it can carry a message, and messengers look it up. */
const commonTlds =
  'com|net|org|info|biz|io|dev|app|xyz|top|site|online|page|link|click|live|shop|store|club|pro|icu|vip|me|co|ai|ru|cn|de|uk|eu|fr|nl|it|es|be|ch|at|se|no|pl|br|jp|kr|us|in|pw|tk|ml|ga|cf|gq|ws|to|ly|gl|gd|cc|sh';
/** Those that are rather the name of a file, where but one name stands before them. */
const ambiguousTlds = 'cc|sh';
/** What stands at the end of names of programs and files, and of no site: `Node.js/Express` is no address. */
const fileExtensions =
  'js|ts|jsx|tsx|mjs|json|html?|css|txt|pdf|csv|xml|ya?ml|php|exe|jar|java|cpp|png|jpe?g|gif|docx?|xlsx?';
const punctuation = String.raw`[.,;:!?'"*_~\x60)\]}|]`;
/** How an address goes on behind its host: a question mark that only ends a sentence begins no query. */
const pathOrQuery = String.raw`(?:/|[?#](?!${punctuation}{0,20}(?:\s|$)))[^\s<>"\x60]{0,2000}`;
const mail = String.raw`(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,10}\p{L}[\p{L}\p{N}-]{1,62}(?![\p{L}\p{N}-]|\.[\p{L}\p{N}]|(?::\d{1,5})?${pathOrQuery})`;
const name = String.raw`(?<![\p{L}\p{N}-])[\p{L}\p{N}-]{1,63}\.(?!(?:${ambiguousTlds})(?![\p{L}\p{N}-]))(?:${commonTlds})(?![\p{Script=Latin}\p{N}@(]|[.-][\p{L}\p{N}])`;
const address = new RegExp(
  [
    // Nobody writes to it by reading, and it is kept as it is.
    `(?<mail>${mail})`,
    // With a scheme and slashes, also where Markdown would take signs between them away.
    String.raw`[a-z][a-z0-9+.-]{0,30}\\?:\\?[/\\]\\?[/\\][^\s<>"\x60]{0,2000}`,
    // The same without its scheme.
    String.raw`(?<!:)//[\p{L}\p{N}-]{1,63}\.[^\s<>"\x60]{0,2000}`,
    // What is its own content.
    String.raw`(?<![a-z])(?:(?:javascript|vbscript|file|blob):(?=\S)|data:(?=[^\s,]{0,100}[,;]))[^\s<>"\x60]{0,2000}`,
    // As it is often typed, and as messengers recognise it.
    String.raw`www\.[^\s<>"\x60]{0,2000}`,
    String.raw`(?<![\p{L}\p{N}-])(?:[\p{L}\p{N}-]{1,63}\.){1,10}(?!(?:${fileExtensions})(?![\p{L}\p{N}-]))\p{L}[\p{L}\p{N}-]{1,62}(?::\d{1,5})?${pathOrQuery}`,
    // A number of a host; behind a slash, one number alone is the size of a network.
    String.raw`(?<![\p{L}\p{N}.-])(?:\d{1,3}\.){3}\d{1,3}(?!/\d{1,2}(?:${punctuation}|\s|$))(?::\d{1,5})?${pathOrQuery}`,
    String.raw`(?<![\p{L}\p{N}-])(?:[\p{L}\p{N}-]{1,63}\.){2,10}(?:${commonTlds})(?![\p{Script=Latin}\p{N}]|[.-][\p{L}\p{N}])`,
    `(?<name>${name})`,
  ].join('|'),
  'giu',
);
const trailing = new RegExp(`${punctuation}{1,20}$`);

/** A text as those read it who make links of addresses, each sign at its place: letters of another width are letters, and so are the dots of their hosts. */
const normalizeSigns = (text: string): string =>
  text
    // A dot leader, a small full stop: normalisation makes them the dot of a host.
    .replaceAll(/[\u2024\uFE52]/g, '.')
    .replaceAll(/[\uFF0D-\uFF1A\uFF20-\uFF3A\uFF41-\uFF5A]/g, (sign) =>
      String.fromCharCode(sign.charCodeAt(0) - 0xfee0),
    )
    .replaceAll(/(?<=[A-Za-z0-9])[\u3002\uFF61](?=[A-Za-z0-9])/g, '.');

/** An address as it is compared: a host is the same in any case, and a slash at the end says nothing. */
function normalizeAddress(found: string): string {
  const bare = found.replace(/^www\./i, 'https://www.');
  const parts = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)([^]*)/i.exec(
    /^[a-z][a-z0-9+.-]*:/i.test(bare) ? bare : `https://${bare}`,
  );
  const [, origin = '', rest = ''] = parts ?? [];
  return parts === null ? bare : `${origin.toLowerCase()}${rest.replace(/\/$/, '')}`;
}

/** The addresses in texts that a model may repeat. */
export function addressesIn(texts: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const text of texts)
    for (const { 0: whole, groups } of normalizeSigns(withoutHidden(text)).matchAll(address)) {
      if (groups?.['mail'] !== undefined) continue;
      const given = normalizeAddress(whole.replace(trailing, ''));
      found.add(given);
      // Whoever may name a page may name its site.
      const site = /^https?:\/\/[^/?#]+/.exec(given)?.[0];
      if (site !== undefined) found.add(site);
    }
  return found;
}

/** No answer is longer: what goes on beyond that is none, and would only take time. */
const maxCharacters = 64 * 1024;

/** How far into what looks like an address another end of it is looked for. */
const maxEnds = 20;

/** How much of what looks like an address was given; 0 for nothing of it. */
function allowedLength(found: string, given: ReadonlySet<string>): number {
  const end = trailing.exec(found)?.[0].length ?? 0;
  if (given.has(normalizeAddress(found)) || given.has(normalizeAddress(found.slice(0, found.length - end))))
    return found.length;
  let ends = 0;
  // Such as the address of a link, with the words that follow its bracket.
  for (const { index } of found.matchAll(/[)\]}'|]/g)) {
    if (given.has(normalizeAddress(found.slice(0, index)))) return index + 1;
    ends += 1;
    if (ends === maxEnds) break;
  }
  return 0;
}

/** Where code stands in a text: nobody makes links there. */
function codeAt(text: string): (at: number) => boolean {
  const spans = [...text.matchAll(/```[^]*?```|`[^`\n]+`/g)].map(({ 0: code, index }) => [index, index + code.length]);
  let next = 0;
  return (at) => {
    while (next < spans.length && (spans[next]?.[1] ?? 0) <= at) next += 1;
    return (spans[next]?.[0] ?? Number.POSITIVE_INFINITY) <= at;
  };
}

/** A name that could be that of a host, as words that nobody makes a link of: it carries nothing, so it need not go. */
function separateHost(found: string): string {
  const dot = Math.max(
    ...['.', '\uFF0E', '\u3002', '\uFF61', '\u2024', '\uFE52'].map((sign) => found.lastIndexOf(sign)),
  );
  const [before, end] = [found.slice(0, dot), found.slice(dot)];
  // The end of a sentence behind which a space is missing.
  if (/\p{Ll}$/u.test(before) && /^.\p{Lu}\p{Ll}+$/u.test(end)) return `${before}${end[0] ?? ''} ${end.slice(1)}`;
  return `${before} ${end}`;
}

/** A text without the addresses that were not given; whatever follows a given one is apart from it. */
function removeUnknownAddresses(text: string, given: ReadonlySet<string>): string {
  const scan = new RegExp(address);
  const read = normalizeSigns(text);
  const isCode = codeAt(text);
  let kept = '';
  let at = 0;
  for (let match = scan.exec(read); match !== null; match = scan.exec(read)) {
    const [found] = match;
    const isMail = match.groups?.['mail'] !== undefined;
    const length = isMail ? found.length : allowedLength(found, given);
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

/** The addresses in a text that were not given. */
const unknownAddressesIn = (text: string, given: ReadonlySet<string>): string[] =>
  [...normalizeSigns(text).matchAll(address)]
    .filter(({ 0: found, groups }) => groups?.['mail'] === undefined && allowedLength(found, given) === 0)
    .map(({ 0: found, index }) => text.slice(index, index + found.length));

/**
 * An answer of a model that shows no picture, holds no tag, and names no address but those given. Pictures of Markdown become their words, tags text; a link to another place
 * is left as its words with `[link removed]`, and so is a bare address; of a name such as
 * `evil.com` the end is set apart, so that nobody makes a link of it. Links by reference, whose address stands elsewhere, become text.
 */
export function filterAnswer(answer: string, given: ReadonlySet<string>): string {
  const text = withoutHidden(answer.slice(0, maxCharacters))
    .replaceAll(/(?<!!)!+(?=\[)/g, '')
    .replaceAll(/<(?=[\p{L}/!?])/gu, '< ')
    .replaceAll(']:', '] :');
  const links = removeUnknownAddresses(text, given).replaceAll(
    /\]\(([^\s()]{0,2000}\))?/g,
    (link, target: string | undefined) =>
      target !== undefined && given.has(normalizeAddress(target.slice(0, -1))) ? link : `] (${target ?? ''}`,
  );
  return cleanWithoutMarks(
    links,
    (bare) => unknownAddressesIn(bare, given),
    (bare) => removeUnknownAddresses(bare, given),
  );
}
