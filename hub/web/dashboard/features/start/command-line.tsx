import { CopyButton } from '../../ui/value.tsx';

/** One line for a shell, with a button that copies it. */
export function CommandLine({ line, label }: { line: string; label: string }) {
  return (
    <div className="flex items-center gap-2 rounded-(--radius-medium) bg-surface-muted py-1.5 ps-3 pe-1.5">
      <code dir="ltr" aria-label={label} className="min-w-0 flex-1 py-1 text-start whitespace-pre-wrap wrap-anywhere">
        {line}
      </code>
      <CopyButton text={line} />
    </div>
  );
}
