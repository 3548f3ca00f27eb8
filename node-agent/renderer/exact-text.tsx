import { visibleLine, visibleText } from '../../shared/visible-text.ts';

/** Stands in no text that was made visible, since it is a control character itself. */
const edge = '\0';
const write = (name: string) => `${edge}⟨${name}⟩${edge}`;
const bracket = /(⟨)/;

/** More elements than this would keep the window from answering. */
const maxMarks = 2_000;

/** A text of which every character matters, in the letters of a program: what it hides is named, and stands out from what only looks like such a name. */
export function ExactText({ text, isMultiLine = false }: { text: string; isMultiLine?: boolean }) {
  const visible = isMultiLine ? visibleText : visibleLine;
  const pieces = visible(text, write).split(edge);
  const isPlain = pieces.length > 2 * maxMarks;
  return (
    <bdi className="exact-text">
      {isPlain
        ? // Without marks, its own brackets are named as well, so that nothing in it can pass for such a name.
          text
            .split(bracket)
            .map((piece) => (piece === '⟨' ? '⟨U+27E8⟩' : visible(piece)))
            .join('')
        : pieces.map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece))}
    </bdi>
  );
}
