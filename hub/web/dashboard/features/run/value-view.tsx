import { useLanguage } from '../../app/language.tsx';
import { JsonTree } from '../../ui/json-tree.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { LargeText } from './large-text.tsx';

/** Larger values open only when the reader asks for them, and as text. */
export const treeBytes = 64 * 1024;

/** A JSON value: as a tree, or whole as text when it is large. Nothing is cut. */
export function JsonValueView({ value, label }: { value: unknown; label: string }) {
  const text = JSON.stringify(value, null, 2) ?? 'null';
  return text.length > treeBytes ? <LargeText text={text} label={label} /> : <JsonTree value={value} />;
}

/** A text: whole, however long. */
export function TextView({ text, label }: { text: string; label: string }) {
  return text.length > treeBytes ? <LargeText text={text} label={label} /> : <CodeBlock text={text} label={label} />;
}

/** Stands for a large value until the reader asks for it. */
export function LargeValueNote({
  bytes: size,
  isBusy,
  onOpen,
}: {
  bytes: number;
  isBusy: boolean;
  onOpen: () => void;
}) {
  const { bytes, format, words } = useLanguage();
  return (
    <div className="rounded-(--radius-medium) border border-dashed p-3 text-sm">
      <p className="mb-1.5 text-text-muted">{words.run.largeValue}</p>
      <button
        type="button"
        className="font-semibold text-accent hover:underline disabled:opacity-55"
        disabled={isBusy}
        onClick={onOpen}
      >
        {format(words.common.wholeValue, { size: bytes(size) })}
      </button>
    </div>
  );
}
