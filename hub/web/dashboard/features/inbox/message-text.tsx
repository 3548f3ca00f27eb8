import { visibleText } from '../../../../../shared/visible-text.ts';
import { linkParts } from '../../../../../shared/web/links.ts';

/**
 * Parts of a text that look misleading to `visibleText` but belong to ordinary writing: emoji that are joined, joiners
 * within words of Persian and Indian languages, and the narrow spaces of French.
 */
const ordinary =
  /((?:\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\uFE0F){0,2}\u200D?)+|[0-9#*]\uFE0F|(?<=[\p{L}\p{M}])[\u200C\u200D](?=[\p{L}\p{M}])|[\u00A0\u202F])/u;

/** A text of a visitor with characters marked that can hide its real content. */
export function readableText(text: string): string {
  return text
    .split(ordinary)
    .map((part, index) => (index % 2 === 0 ? visibleText(part) : part))
    .join('');
}

/** Shows a text literally. Only http and https addresses become links, which reveal nothing of this page. */
export function MessageText({ text }: { text: string }) {
  return linkParts(text).map((part, index) =>
    part.href === undefined ? (
      readableText(part.text)
    ) : (
      <a
        key={index}
        href={part.href}
        title={part.href}
        target="_blank"
        rel="noopener noreferrer nofollow"
        className="underline"
      >
        {visibleText(part.text)}
      </a>
    ),
  );
}
