import { useState } from 'react';
import { visibleJson, visibleLine } from '../../../../shared/visible-text.ts';
import { useLanguage } from '../app/language.tsx';
import { CodeBlock } from './value.tsx';

/** Larger values open as text: a tree of them has too many elements. */
const treeCharacters = 64 * 1024;
/** Children that a branch shows before the reader asks for more. */
const firstChildren = 100;

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;
const hasChildren = (value: unknown): value is object => isBranch(value) && Object.keys(value).length > 0;

function Leaf({ value }: { value: unknown }) {
  const color =
    typeof value === 'string' ? 'text-success' : typeof value === 'number' ? 'text-accent' : 'text-text-muted';
  return <span className={`wrap-anywhere whitespace-pre-wrap ${color}`}>{visibleJson(value)}</span>;
}

function Branch({ name, value, depth }: { name: string | null; value: object; depth: number }) {
  const { format, words } = useLanguage();
  const [isOpen, setOpen] = useState(depth < 2);
  const [shown, setShown] = useState(firstChildren);
  const entries = Object.entries(value);
  const summary = format(Array.isArray(value) ? words.common.items : words.common.fields, { count: entries.length });
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="rounded-sm hover:bg-hover">
        {name !== null && <span>{visibleLine(name)}: </span>}
        <span className="text-text-muted">{summary}</span>
      </summary>
      {isOpen && (
        <div className="ms-1.5 border-s ps-3">
          {entries.slice(0, shown).map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} />
          ))}
          {entries.length > shown && (
            <button
              type="button"
              className="text-accent hover:underline"
              onClick={() => setShown(shown + 10 * firstChildren)}
            >
              {words.common.more}
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Node({ name, value, depth }: { name: string | null; value: unknown; depth: number }) {
  if (hasChildren(value)) return <Branch name={name} value={value} depth={depth} />;
  return (
    <div className="ps-4">
      {name !== null && <span>{visibleLine(name)}: </span>}
      <Leaf value={value} />
    </div>
  );
}

/** A JSON value as a tree; a large one as text. */
export function JsonTree({ value }: { value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? 'null';
  if (text.length > treeCharacters) return <CodeBlock text={text} />;
  return (
    <div className="max-h-96 overflow-auto rounded-(--radius-medium) bg-surface-muted p-3 font-mono text-sm">
      <Node name={null} value={value} depth={0} />
    </div>
  );
}
