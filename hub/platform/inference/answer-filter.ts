import { withoutHidden } from './untrusted-text.ts';

/**
 * What comes back from a model may be shown by a program that fetches pictures and follows links. An address is a way out: whoever gets a model to write one of their own, with
 * something from its prompt at the end, has read that. So no picture passes, and an address only where it was given, letter for letter.
 */

const removed = '[link removed]';
/** Ends of names under which anybody gets one of their own; a longer name before it can carry a message, and messengers look it up. */
const commonEnds =
  'com|net|org|info|biz|io|dev|app|xyz|top|site|online|page|link|click|live|me|co|ai|ru|cn|de|uk|eu|fr|nl|us|in|pw|tk|cc|ws|to|sh';
const address = new RegExp(
  [
    // With a scheme and slashes, also where Markdown would take signs between them away.
    String.raw`[a-z][a-z0-9+.-]{0,30}\\?:\\?[/\\]\\?[/\\][^\s<>"\x60]{0,2000}`,
    // The same without its scheme.
    String.raw`(?<!:)//[\p{L}\p{N}-]{1,63}\.[^\s<>"\x60]{0,2000}`,
    // What is its own content.
    String.raw`(?<![a-z])(?:(?:javascript|vbscript|file|blob):(?=\S)|data:(?=[^\s,]{0,100}[,;]))[^\s<>"\x60]{0,2000}`,
    // As it is often typed, and as messengers recognise it.
    String.raw`www\.[^\s<>"\x60]{0,2000}`,
    String.raw`(?<![\p{L}\p{N}-])(?:[\p{L}\p{N}-]{1,63}\.){1,10}\p{L}[\p{L}\p{N}-]{1,62}(?::\d{1,5})?[/?#][^\s<>"\x60]{0,2000}`,
    String.raw`(?<![\p{L}\p{N}-])(?:[\p{L}\p{N}-]{1,63}\.){2,10}(?:${commonEnds})(?![\p{L}\p{N}]|[.-][\p{L}\p{N}])`,
  ].join('|'),
  'giu',
);
const trailing = /[.,;:!?'"*_~`)\]}|]{1,20}$/;

/** An address as it is compared: a host is the same in any case, and a slash at the end says nothing. */
function normalised(found: string): string {
  const bare = found.replace(/^www\./i, 'https://www.');
  const parts = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/i.exec(
    /^[a-z][a-z0-9+.-]*:/i.test(bare) ? bare : `https://${bare}`,
  );
  const [, origin = '', rest = ''] = parts ?? [];
  return parts === null ? bare : `${origin.toLowerCase()}${rest.replace(/\/$/, '')}`;
}

/** The addresses in texts that a model may repeat. */
export function addressesIn(texts: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const text of texts)
    for (const [whole] of withoutHidden(text).matchAll(address)) {
      const given = normalised(whole.replace(trailing, ''));
      found.add(given);
      // Whoever may name a page may name its site.
      const site = /^https?:\/\/[^/?#]+/.exec(given)?.[0];
      if (site !== undefined) found.add(site);
    }
  return found;
}

/** No answer is longer: what goes on beyond that is none, and would only take time. */
const mostCharacters = 64 * 1024;

/** How far into what looks like an address another end of it is looked for. */
const mostEnds = 20;

/** How much of what looks like an address was given; 0 for nothing of it. */
function givenLength(found: string, given: ReadonlySet<string>): number {
  const end = trailing.exec(found)?.[0].length ?? 0;
  if (given.has(normalised(found)) || given.has(normalised(found.slice(0, found.length - end)))) return found.length;
  let ends = 0;
  // Such as the address of a link, with the words that follow its bracket.
  for (const { index } of found.matchAll(/[)\]}'|]/g)) {
    if (given.has(normalised(found.slice(0, index)))) return index + 1;
    ends += 1;
    if (ends === mostEnds) break;
  }
  return 0;
}

/** A text without the addresses that were not given; whatever follows a given one is apart from it. */
function withGivenOnly(text: string, given: ReadonlySet<string>): string {
  const scan = new RegExp(address);
  let kept = '';
  let at = 0;
  for (let match = scan.exec(text); match !== null; match = scan.exec(text)) {
    const [found] = match;
    const length = givenLength(found, given);
    kept += text.slice(at, match.index);
    at = match.index + (length === 0 ? found.length : length);
    if (length === 0) kept += `${removed}${trailing.exec(found)?.[0] ?? ''}`;
    else kept += `${found.slice(0, length)}${length < found.length ? ' ' : ''}`;
    scan.lastIndex = at;
  }
  return kept + text.slice(at);
}

/**
 * An answer of a model that shows no picture, holds no tag, and names no address but those given. Pictures of Markdown become their words, tags text; a link to another place
 * is left as its words with `[link removed]`, and so is a bare address. Links by reference, whose address stands elsewhere, become text.
 */
export function filterAnswer(answer: string, given: ReadonlySet<string>): string {
  const text = withoutHidden(answer.slice(0, mostCharacters))
    .replaceAll(/(?<!!)!+(?=\[)/g, '')
    .replaceAll(/<(?=[\p{L}/!?])/gu, '< ')
    .replaceAll(']:', '] :');
  return withGivenOnly(text, given).replaceAll(/\]\(([^\s()]{0,2000}\))?/g, (link, target: string | undefined) =>
    target !== undefined && given.has(normalised(target.slice(0, -1))) ? link : `] (${target ?? ''}`,
  );
}
