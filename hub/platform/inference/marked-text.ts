import { toSpokenText } from '../../../shared/spoken-text.ts';

const marks = /[*_~`[\]]/;
/** Marks that come together only once others are gone. */
const maxLayers = 3;

const withoutMarks = (word: string): string =>
  toSpokenText(word.replaceAll(/!?\[|\](?:\([^()\s]{0,2000}\))?/g, '')).replaceAll('`', '');

/**
 * A text whose words hold nothing that comes together once the marks of Markdown within them are shown as what they mean, or not said, such as `evil**.**com`.
 * @param find what may not be in a text. @param clean a text without it.
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
