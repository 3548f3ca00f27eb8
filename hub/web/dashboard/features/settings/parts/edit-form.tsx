import { useBlocker } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { background } from '../../../../../../shared/web/background.ts';
import { useLanguage } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Note } from './note.tsx';
import type { Edits } from './use-edits.ts';

/** Asks before the user leaves a form with unsaved changes. */
function UnsavedChanges({ isChanged }: { isChanged: boolean }) {
  const { settings } = useLanguage().words;
  const blocker = useBlocker({
    // Filters and open objects in the address belong to the page.
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  if (blocker.status !== 'blocked') return null;
  return (
    <Dialog title={settings.unsavedTitle} onClose={blocker.reset}>
      <p className="mb-4 text-text-muted">{settings.unsavedText}</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={blocker.reset}>{settings.stay}</Button>
        <Button variant="danger" onClick={blocker.proceed}>
          {settings.leave}
        </Button>
      </div>
    </Dialog>
  );
}

/** Names the edited fields that someone else changed, and lets the user decide. */
function Conflicts<Value>({ edits, labels }: { edits: Edits<Value>; labels: Record<keyof Value, string> }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  if (edits.conflicts.length === 0) return null;
  return (
    <div role="alert" className="mb-3 rounded-(--radius-medium) bg-warning-muted px-3 py-2.5 text-warning">
      <p className="font-semibold">{settings.changedMeanwhile}</p>
      <p className="mt-0.5 mb-2">
        {format(settings.conflictFields, { fields: edits.conflicts.map((name) => labels[name]).join(', ') })}
      </p>
      <div className="flex flex-wrap gap-2">
        <Button size="small" onClick={edits.useTheirs}>
          {settings.useTheirs}
        </Button>
        <Button size="small" onClick={edits.keepMine}>
          {settings.keepMine}
        </Button>
      </div>
    </div>
  );
}

/** Why the hub did not save. A reason that stands beside its field is not repeated. */
function Refusal<Value>({ edits, labels }: { edits: Edits<Value>; labels: Record<keyof Value, string> }) {
  const { words, format } = useLanguage();
  const fields = edits.refusedFields();
  if (fields === null) return <ErrorNote error={edits.error} />;
  return (
    <p role="alert" className="my-2 rounded-(--radius-medium) bg-danger-muted px-3 py-2 text-danger">
      {format(words.settings.refusedFields, { fields: fields.map((name) => labels[name]).join(', ') })}
    </p>
  );
}

/** A form over a settings object, with conflicts, errors and the button that saves. */
export function EditForm<Value extends object>({
  edits,
  labels,
  canEdit,
  isInCard = false,
  children,
}: {
  edits: Edits<Value>;
  labels: Record<keyof Value, string>;
  canEdit: boolean;
  /** In a card, the button stays below the fields; on a page, it stays in view. */
  isInCard?: boolean;
  children: ReactNode;
}) {
  const { common, settings } = useLanguage().words;
  return (
    <form
      className="max-w-3xl"
      onSubmit={(event) => {
        event.preventDefault();
        background(edits.submit());
      }}
    >
      {!canEdit && <Note>{settings.adminsChange}</Note>}
      <fieldset disabled={!canEdit || edits.isSaving} className="flex min-w-0 flex-col gap-4">
        {children}
      </fieldset>
      {canEdit && (
        <div className={isInCard ? 'mt-1' : 'sticky bottom-0 z-5 mt-1 bg-background py-3'}>
          <Conflicts edits={edits} labels={labels} />
          <Refusal edits={edits} labels={labels} />
          <div className="flex items-center gap-2">
            <Button
              variant="primary"
              type="submit"
              isBusy={edits.isSaving}
              disabled={!edits.isChanged || edits.conflicts.length > 0}
            >
              {common.save}
            </Button>
            {edits.isChanged && (
              <Button disabled={edits.isSaving} onClick={edits.discard}>
                {settings.discard}
              </Button>
            )}
            <span className="text-sm text-text-muted">{edits.isChanged ? settings.unsaved : ''}</span>
          </div>
        </div>
      )}
      <UnsavedChanges isChanged={edits.isChanged} />
    </form>
  );
}
