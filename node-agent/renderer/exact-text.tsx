import { visibleLine, visibleText } from '../../shared/visible-text.ts';

/** Separator. It never occurs in the visible text, because control characters are replaced by their names. */
const edge = '\0';
const markName = (name: string) => `${edge}⟨${name}⟩${edge}`;
const bracket = /(⟨)/;

/** More `mark` elements than this make the window unresponsive. */
const maxMarks = 2_000;

/**
 * A text whose every character matters, in a monospace font. Names of invisible characters are marked, so that they
 * differ from text that only looks like a name.
 */
export function ExactText({ text, isMultiLine = false }: { text: string; isMultiLine?: boolean }) {
  const visible = isMultiLine ? visibleText : visibleLine;
  const pieces = visible(text, markName).split(edge);
  const isPlain = pieces.length > 2 * maxMarks;
  return (
    <bdi className="exact-text">
      {isPlain
        ? // Without marks, brackets of the text are named too, so that no text can look like a name.
          text
            .split(bracket)
            .map((piece) => (piece === '⟨' ? '⟨U+27E8⟩' : visible(piece)))
            .join('')
        : pieces.map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece))}
    </bdi>
  );
}
