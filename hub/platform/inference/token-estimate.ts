/**
 * How many tokens a text takes at most, without the tables of any model. The tokenisers in use work on bytes of UTF-8, so no character takes more tokens than it has bytes: that
 * bound is taken for emoji and for every script but two. Chinese, Japanese and Korean characters have tokens of their own in all of them, and take one or two. Of ASCII, digits, signs
 * and line breaks count one each, as in the tokenisers that join none of them, and letters one for each three of a word, and more where consonants stand in a row, as no language has them but random and encoded text does.
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
      // A capital within a word begins another, as in code.
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
      // The first blank belongs to the word that follows; of more, four share a token at worst.
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
