/** What is said of a text that was written to be read: without the marks of Markdown, its links by their words. */
export function toSpokenText(text: string): string {
  return (
    text
      .replaceAll(/!?\[([^[\]\n]{0,500})\]\([^()\s]{0,2000}\)/g, '$1')
      // What the filter of answers leaves of an address that was not given.
      .replaceAll(/\[([^[\]\n]{0,500})\] \(\[link removed\]\)/g, '$1')
      .replaceAll(/ ?\[(?:link|key) removed\](?=[.,;:!?)'"]{0,20}(?:\s|$))/g, '')
      // Nothing comes together of what stands around it.
      .replaceAll(/\[(?:link|key) removed\]/g, ' ')
      .replaceAll(/^[ \t]{0,10}(?:#{1,6}|[-*+]|>)[ \t]+/gm, '')
      .replaceAll(/(?:\*{1,3}|_{2,3}|~~|`{1,3}|(?<![\p{L}\p{N}])_)(?=\S)/gu, '')
      .replaceAll(/(?<=\S)(?:\*{1,3}|_{2,3}|~~|`{1,3}|_(?![\p{L}\p{N}]))/gu, '')
  );
}
