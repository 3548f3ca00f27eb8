/**
 * Estimates an upper bound of the tokens of a text, without the tables of any model.
 * Current tokenizers work on UTF-8 bytes, so a character never needs more tokens than bytes. That bound is used for
 * emoji and most scripts. Chinese, Japanese and Korean characters have tokens of their own and count two. ASCII digits,
 * punctuation and line breaks count one each. Every three letters of a word count one. Runs of consonants count more,
 * because only random or encoded text has them.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let letters = 0;
  let consonants = 0;
  let isBlank = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const isLetter = (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a);
    if (isLetter) {
      // A capital letter within a word begins a new token, as in code.
      if (letters === 0 || letters % 3 === 0 || unit <= 0x5a) {
        tokens += 1;
        letters = 0;
      }
      letters += 1;
      consonants = vowels.has(unit | 0x20) ? 0 : consonants + 1;
      if (consonants > 2) tokens += 0.7;
      isBlank = false;
      continue;
    }
    letters = 0;
    consonants = 0;
    if (unit === 0x20) {
      // The first space belongs to the next word. Of further spaces, at least four share a token.
      if (isBlank) tokens += 0.25;
      isBlank = true;
      continue;
    }
    isBlank = false;
    if (unit < 0x80) tokens += 1;
    else if (unit < 0x800) tokens += 2;
    else if (isCommonEastAsian(unit)) tokens += 2;
    else if (unit >= 0xd800 && unit <= 0xdbff) {
      tokens += 4;
      at += 1;
    } else tokens += 3;
  }
  return Math.ceil(tokens);
}

const vowels = new Set([...'aeiouy'].map((letter) => letter.charCodeAt(0)));
const isCommonEastAsian = (unit: number) =>
  (unit >= 0x3000 && unit <= 0x30ff) || (unit >= 0x4e00 && unit <= 0x9fff) || (unit >= 0xac00 && unit <= 0xd7a3);
