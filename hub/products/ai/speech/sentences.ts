/** Maximum characters of a piece. A longer sentence is split after a clause or a word. */
const maxPieceLength = 240;
/**
 * Text whose full stop does not end a sentence: abbreviations, single letters (`z. B.`, `J. S. Bach`) and numbers that
 * may be ordinals (`am 3. Mai`).
 */
const notSentenceEnd =
  /(?:^|[\s(„“"'’])(?:\p{L}|\d{1,2}|(?:\p{L}\.)+\p{L}|Mr|Mrs|Ms|Dr|Drs|Prof|St|Jr|Sr|Sra|Srta|Mme|Mlle|Hr|Fr|Frl|Nr|Nos|vs|etc|approx|incl|excl|Inc|Ltd|Co|Corp|Dept|Ave|Blvd|Rd|Mt|Fig|Vol|Tel|Ext|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Okt|Oct|Nov|Dez|Dec|bzw|ca|usw|evtl|ggf|inkl|zzgl|Str|Abs|Art|Mio|Mrd|bijv|av|tlf|kl|str|ul|nr|tzn|np|tj|resp|Ud|Uds|pág|núm|avda|art|г|ул|д|стр|руб|тыс|млн|гг)\.["'”’)]*\s*$/u;
/** A letter or a digit, so that the text can be spoken. */
const speakable = /[\p{L}\p{N}]/u;
/** The end of a clause, where a long sentence may be split. */
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
 * Splits a text of any script into sentences, and long sentences at clauses or between words. The joined pieces equal
 * the text. Decimals, abbreviations and addresses are not split. Text without a letter or digit belongs to the piece
 * before.
 * @param language A BCP 47 language tag.
 */
export function splitSentences(text: string, language?: string): string[] {
  const pieces: string[] = [];
  let continues = false;
  for (const { segment } of segmenterOf(language, 'sentence').segment(text)) {
    const last = pieces.length - 1;
    const previous = pieces[last] ?? '';
    // Punctuation directly before a letter or digit, as in an address, does not end a sentence.
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
    // A comma in a number and a colon in an address do not end a clause.
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
  // Keep surrogate pairs together.
  if (found > 0) return found;
  return /[\uD800-\uDBFF]/.test(text[maxPieceLength - 1] ?? '') ? maxPieceLength - 1 : maxPieceLength;
}

/**
 * Slices of a long input. Each slice is segmented together with the unfinished piece, so the cost per slice is bounded.
 */
const inputSlices = /[^]{1,240}/gu;
/** Three or more white-space characters, which are shortened to two. */
const longWhitespace = /[\s\p{Z}]{3,}/gu;

/**
 * Splits a text that arrives in parts. A piece is returned once the next piece has begun. The joined pieces equal the
 * text, with at most two white-space characters in a row.
 */
export class SentenceSplitter {
  readonly #language: string | undefined;
  #unfinished = '';

  /** @param language A BCP 47 language tag. */
  constructor(language?: string) {
    this.#language = language;
  }

  /** Returns the pieces that are complete. */
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

  /** Returns the last piece, or an empty text. */
  end(): string {
    const rest = this.#unfinished;
    this.#unfinished = '';
    return rest;
  }
}

/** Whether a text contains a letter or digit. */
export const hasSpeakableText = (text: string): boolean => speakable.test(text);
