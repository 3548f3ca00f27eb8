export type TextPart = { text: string; href?: undefined } | { text: string; href: string };

const address = /\bhttps?:\/\/[^\s<>"'`]+/gi;
/** Ends a sentence rather than an address. */
const trailing = new Set('.,;:!?\'"»”’');

function addressOf(found: string): string {
  let surplus = found.split(')').length - found.split('(').length;
  let end = found.length;
  for (; end > 0; end -= 1) {
    const last = found[end - 1] as string;
    if (trailing.has(last)) continue;
    // A closing bracket belongs to the address only where it was opened in it.
    if (last !== ')' || surplus <= 0) break;
    surplus -= 1;
  }
  return found.slice(0, end);
}

/** A text cut into plain parts and addresses of the web, which alone become links. All parts together are the text. */
export function linkParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let at = 0;
  for (const match of text.matchAll(address)) {
    const found = addressOf(match[0]);
    const url = URL.canParse(found) ? new URL(found) : null;
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '') continue;
    if (match.index > at) parts.push({ text: text.slice(at, match.index) });
    parts.push({ text: found, href: url.href });
    at = match.index + found.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return parts;
}
