/** More marks in a row than any language needs; the Stream-Safe Text Format of Unicode (UAX 15) has this limit, too. */
const manyMarks = /\p{M}{30}(?=\p{M})/gu;
const graphemeJoiner = '\u034F';

/**
 * A text in a normal form of Unicode. Node.js takes quadratic time to sort the marks behind one letter, so a joiner divides more than 30 of them.
 */
export const normalizeText = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  text.replaceAll(manyMarks, `$&${graphemeJoiner}`).normalize(form);
