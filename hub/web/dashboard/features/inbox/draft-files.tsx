import { X } from 'lucide-react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useStore } from '../../app/use-store.ts';
import { IconButton } from '../../ui/button.tsx';
import { maxFiles } from './draft.ts';
import type { Draft } from './draft.ts';

/** Files of the draft. */
export function DraftFiles({ draft, onRemoved }: { draft: Draft; onRemoved: () => void }) {
  const { words, format, bytes } = useLanguage();
  const { inbox } = words;
  const { refusedFiles } = useStore(draft.store);
  const { files, uploads } = draft.text;
  const refusal = refusedFiles > 0 && (
    <p role="alert" className="mb-1.5 text-sm text-warning">
      {format(inbox.tooManyFiles, { max: maxFiles, count: refusedFiles })}
    </p>
  );
  if (files.length + uploads === 0) return refusal;
  return (
    <>
      {refusal}
      <ul aria-label={inbox.files} className="mb-1.5 flex flex-wrap gap-1.5 text-sm">
        {files.map((file) => (
          <li key={file.id} className="flex max-w-full items-center gap-1 rounded-full border bg-surface-muted ps-2.5">
            <span className="min-w-0 truncate">{visibleLine(file.name)}</span>
            <span className="whitespace-nowrap text-text-muted">{bytes(file.bytes)}</span>
            <IconButton
              label={format(inbox.removeFile, { name: visibleLine(file.name) })}
              className="size-7!"
              onClick={() => {
                draft.detach(file.id);
                onRemoved();
              }}
            >
              <X size={14} aria-hidden />
            </IconButton>
          </li>
        ))}
        {uploads > 0 && <li className="py-1 text-text-muted">{format(inbox.uploading, { count: uploads })}</li>}
      </ul>
    </>
  );
}
