import { toSpokenText } from '../../../shared/spoken-text.ts';

const marks = /[*_~`[\]]/;
/** Nested marks are removed at most this many times. */
const maxLayers = 3;

const withoutMarks = (word: string): string =>
  toSpokenText(word.replaceAll(/!?\[|\](?:\([^()\s]{0,2000}\))?/g, '')).replaceAll('`', '');

/**
 * Cleans the words of a text that contain Markdown marks, so that no address appears when the marks are rendered or
 * removed, as in `evil**.**com`.
 * @param find returns the forbidden parts of a text.
 * @param clean returns a text without them.
 */
export function cleanWithoutMarks(
  text: string,
  find: (text: string) => string[],
  clean: (text: string) => string,
): string {
  return text.replaceAll(/\S+/g, (word) => {
    if (!marks.test(word)) return word;
    let shown = word;
    for (let layer = 0; layer < maxLayers; layer += 1) {
      const bare = withoutMarks(shown);
      if (bare === shown || find(bare).every((found) => shown.includes(found))) return shown;
      shown = clean(bare);
    }
    return '';
  });
}
