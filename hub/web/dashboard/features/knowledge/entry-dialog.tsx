import { useState } from 'react';
import type { KnowledgeEntry } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input, TextArea } from '../../ui/form.tsx';

/** Edits an entry, or writes a new one. `onSave` stores it; a failure is in `error`. */
export function EntryDialog({
  entry,
  isNew,
  isSaving,
  error,
  onSave,
  onClose,
}: {
  entry: KnowledgeEntry;
  isNew: boolean;
  isSaving: boolean;
  error: Error | null;
  onSave: (entry: KnowledgeEntry) => void;
  onClose: () => void;
}) {
  const { words } = useLanguage();
  const texts = words.knowledge;
  const [draft, setDraft] = useState(entry);
  const [isChecked, setChecked] = useState(false);
  const missing = (text: string) => (isChecked && text.trim() === '' ? words.common.required : null);
  const name = isNew ? 'new' : entry.id;
  const save = () => {
    setChecked(true);
    if (draft.question.trim() !== '' && draft.answer.trim() !== '') onSave(draft);
  };
  return (
    <Dialog title={isNew ? texts.add : texts.edit} onClose={onClose}>
      <Field label={texts.question} error={missing(draft.question)}>
        {(attributes) => (
          <Input
            {...attributes}
            data-keep={`question ${name}`}
            maxLength={1_000}
            value={draft.question}
            onChange={(event) => setDraft({ ...draft, question: event.target.value })}
          />
        )}
      </Field>
      <Field label={texts.answerLabel} error={missing(draft.answer)}>
        {(attributes) => (
          <TextArea
            {...attributes}
            data-keep={`answer ${name}`}
            rows={6}
            maxLength={20_000}
            value={draft.answer}
            onChange={(event) => setDraft({ ...draft, answer: event.target.value })}
          />
        )}
      </Field>
      <Field label={texts.url} isOptional>
        {(attributes) => (
          <Input
            {...attributes}
            type="url"
            dir="ltr"
            value={draft.url ?? ''}
            onChange={(event) => setDraft({ ...draft, url: event.target.value === '' ? null : event.target.value })}
          />
        )}
      </Field>
      <Field label={texts.locale} hint={texts.localeHint} isOptional>
        {(attributes) => (
          <Input
            {...attributes}
            dir="ltr"
            className="max-w-40"
            value={draft.locale ?? ''}
            onChange={(event) => setDraft({ ...draft, locale: event.target.value === '' ? null : event.target.value })}
          />
        )}
      </Field>
      <ErrorNote error={error} />
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{words.common.cancel}</Button>
        <Button variant="primary" isBusy={isSaving} onClick={save}>
          {words.common.save}
        </Button>
      </div>
    </Dialog>
  );
}
