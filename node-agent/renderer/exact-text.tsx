import { visibleLine, visibleText } from '../../shared/visible-text.ts';

/** Stands in no text that was made visible, since it is a control character itself. */
const edge = '\0';
const write = (name: string) => `${edge}⟨${name}⟩${edge}`;

/** A text of which every character matters, in the letters of a program: what it hides is named, and stands out from what only looks like such a name. */
export function ExactText({ text, isMultiLine = false }: { text: string; isMultiLine?: boolean }) {
  const pieces = (isMultiLine ? visibleText(text, write) : visibleLine(text, write)).split(edge);
  return (
    <bdi className="exact-text">
      {pieces.map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece))}
    </bdi>
  );
}
