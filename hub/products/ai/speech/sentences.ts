/** Most characters that are said in one breath, where a clause or a word ends before. */
const maxPieceLength = 240;
/** What ends with a full stop and no sentence: abbreviations, single letters (`z. B.`, `J. S. Bach`) and numbers that may be ordinals (`am 3. Mai`). */
const notSentenceEnd =
  /(?:^|[\s(„“"'’])(?:\p{L}|\d{1,2}|(?:\p{L}\.)+\p{L}|Mr|Mrs|Ms|Dr|Drs|Prof|St|Jr|Sr|Sra|Srta|Mme|Mlle|Hr|Fr|Frl|Nr|Nos|vs|etc|approx|incl|excl|Inc|Ltd|Co|Corp|Dept|Ave|Blvd|Rd|Mt|Fig|Vol|Tel|Ext|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Okt|Oct|Nov|Dez|Dec|bzw|ca|usw|evtl|ggf|inkl|zzgl|Str|Abs|Art|Mio|Mrd|bijv|av|tlf|kl|str|ul|nr|tzn|np|tj|resp|Ud|Uds|pág|núm|avda|art|г|ул|д|стр|руб|тыс|млн|гг)\.["'”’)]*\s*$/u;
/** A word that says something. */
const speakable = /[\p{L}\p{N}]/u;
/** Where a long sentence may be parted, the best first: after a clause, and after anything that stands apart. */
const clauseEnd = /[,;:،؛、，；：—–)\]}][\s\p{Z}]*|\n/gu;

const segmenters = new Map<string, Intl.Segmenter>();
const maxSegmenters = 64;

function segmenterOf(language: string | undefined, granularity: 'sentence' | 'word'): Intl.Segmenter {
  const key = `${granularity} ${language ?? ''}`;
  const known = segmenters.get(key);
  if (known !== undefined) return known;
  let created: Intl.Segmenter;
  try {
    created = new Intl.Segmenter(language, { granularity });
  } catch {
    created = new Intl.Segmenter(undefined, { granularity });
  }
  if (segmenters.size >= maxSegmenters) segmenters.clear();
  segmenters.set(key, created);
  return created;
}

/**
 * A text in the pieces in which it is said: sentences of any script, long ones parted at a clause, else between words. Joined they are the text, letter for letter.
 * Decimals, abbreviations and addresses stay whole; what holds no word goes with the piece before.
 * @param language by BCP 47.
 */
export function splitSentences(text: string, language?: string): string[] {
  const pieces: string[] = [];
  let continues = false;
  for (const { segment } of segmenterOf(language, 'sentence').segment(text)) {
    const last = pieces.length - 1;
    const previous = pieces[last] ?? '';
    // A mark between two letters or digits, as in an address, ends nothing.
    const isInsideWord = /[.?!]$/.test(previous) && /^[\p{L}\p{N}=&/#%_-]/u.test(segment);
    if (last >= 0 && (continues || isInsideWord || !speakable.test(segment) || !speakable.test(previous)))
      pieces[last] = previous + segment;
    else pieces.push(segment);
    continues = notSentenceEnd.test((pieces.at(-1) ?? '').slice(-40));
  }
  return pieces.flatMap((piece) => [...splitLong(piece, language)]);
}

function* splitLong(piece: string, language: string | undefined): Generator<string> {
  let rest = piece;
  while (rest.trimEnd().length > maxPieceLength) {
    const end = lastClauseEnd(rest) ?? lastWordEnd(rest, language);
    yield rest.slice(0, end);
    rest = rest.slice(end);
  }
  if (rest !== '') yield rest;
}

function lastClauseEnd(text: string): number | null {
  let found: number | null = null;
  for (const { index, 0: mark } of text.slice(0, maxPieceLength).matchAll(clauseEnd)) {
    const end = index + mark.length;
    // A comma within a number, and a colon within an address, are no clause.
    const isClauseEnd = /[\s\p{Z}]$/u.test(mark) || /\P{ASCII}/u.test(mark);
    if (isClauseEnd && end > maxPieceLength / 4 && end < text.length) found = end;
  }
  return found;
}

function lastWordEnd(text: string, language: string | undefined): number {
  let found = 0;
  for (const { index, segment } of segmenterOf(language, 'word').segment(text.slice(0, maxPieceLength + 1))) {
    const end = index + segment.length;
    if (end > maxPieceLength) break;
    found = end;
  }
  // Half of a pair of surrogates is no character.
  if (found > 0) return found;
  return /[\uD800-\uDBFF]/.test(text[maxPieceLength - 1] ?? '') ? maxPieceLength - 1 : maxPieceLength;
}

/** Of a text that comes at once, looked at together: what is open is looked at again with each. */
const inputSlices = /[^]{1,240}/gu;
/** More of white space than two of it says no more. */
const longWhitespace = /[\s\p{Z}]{3,}/gu;

/** The same for a text that comes in parts: a piece is there once the next has begun. Joined they are the text with no more than two signs of white space in a row. */
export class SentenceSplitter {
  readonly #language: string | undefined;
  #unfinished = '';

  /** @param language by BCP 47. */
  constructor(language?: string) {
    this.#language = language;
  }

  /** What is whole by now. */
  push(part: string): string[] {
    return (part.match(inputSlices) ?? []).flatMap((slice) => this.#split(slice));
  }

  #split(slice: string): string[] {
    const text = (this.#unfinished + slice).replaceAll(longWhitespace, (spaces) =>
      spaces.includes('\n') ? '\n\n' : '  ',
    );
    if (text === this.#unfinished) return [];
    const pieces = splitSentences(text, this.#language);
    this.#unfinished = pieces.pop() ?? '';
    return pieces;
  }

  /** The rest, in one piece; empty when there is none. */
  end(): string {
    const rest = this.#unfinished;
    this.#unfinished = '';
    return rest;
  }
}

/** Whether there is a word in it, so that something can be heard. */
export const hasSpeakableText = (text: string): boolean => speakable.test(text);
