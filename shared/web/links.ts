export type TextPart = { text: string; href?: undefined } | { text: string; href: string };

const addressPattern = /\bhttps?:\/\/[^\s<>"'`]+/gi;
/** Characters that end a sentence rather than a URL. */
const sentenceEnds = new Set('.,;:!?\'"»”’');

function trimAddress(candidate: string): string {
  let surplus = candidate.split(')').length - candidate.split('(').length;
  let end = candidate.length;
  for (; end > 0; end -= 1) {
    const last = candidate[end - 1] as string;
    if (sentenceEnds.has(last)) continue;
    // A closing bracket belongs to the URL only if the URL contains its opening bracket.
    if (last !== ')' || surplus <= 0) break;
    surplus -= 1;
  }
  return candidate.slice(0, end);
}

/** `URL.canParse` and `URL.parse` are missing in several supported browsers. */
function parseAddress(address: string): URL | null {
  try {
    return new URL(address);
  } catch {
    return null;
  }
}

/** Splits a text into plain parts and http or https URLs, which become links. The joined parts equal the text. */
export function linkParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let plainFrom = 0;
  for (const match of text.matchAll(addressPattern)) {
    const address = trimAddress(match[0]);
    const url = parseAddress(address);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '') continue;
    if (match.index > plainFrom) parts.push({ text: text.slice(plainFrom, match.index) });
    parts.push({ text: address, href: url.href });
    plainFrom = match.index + address.length;
  }
  if (plainFrom < text.length) parts.push({ text: text.slice(plainFrom) });
  return parts;
}
