/** Converts Markdown to text for speech: removes the syntax and keeps the text of links. */
export function toSpokenText(text: string): string {
  return (
    text
      .replaceAll(/!?\[([^[\]\n]{0,500})\]\([^()\s]{0,2000}\)/g, '$1')
      // The placeholder of the answer filter for a removed address.
      .replaceAll(/\[([^[\]\n]{0,500})\] \(\[link removed\]\)/g, '$1')
      .replaceAll(/ ?\[(?:link|key) removed\](?=[.,;:!?)'"]{0,20}(?:\s|$))/g, '')
      // A space keeps the surrounding words apart.
      .replaceAll(/\[(?:link|key) removed\]/g, ' ')
      .replaceAll(/^[ \t]{0,10}(?:#{1,6}|[-*+]|>)[ \t]+/gm, '')
      .replaceAll(/(?:\*{1,3}|_{2,3}|~~|`{1,3}|(?<![\p{L}\p{N}])_)(?=\S)/gu, '')
      .replaceAll(/(?<=\S)(?:\*{1,3}|_{2,3}|~~|`{1,3}|_(?![\p{L}\p{N}]))/gu, '')
  );
}
