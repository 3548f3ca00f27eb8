/**
 * No language needs 30 combining marks in a row. The Stream-Safe Text Format of Unicode (UAX 15) has the same limit.
 */
const manyMarks = /\p{M}{30}(?=\p{M})/gu;
const graphemeJoiner = '\u034F';

/**
 * Converts a text to a Unicode normal form. Node.js sorts the marks after a letter in quadratic time, so a joiner is
 * inserted after every 30 marks.
 */
export const normalizeText = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  text.replaceAll(manyMarks, `$&${graphemeJoiner}`).normalize(form);
