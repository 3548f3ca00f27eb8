import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { JsonObject } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, TextArea } from '../../ui/form.tsx';

/** Starts a run of a sequence and opens the page of the run. */
export function RunSequenceDialog({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const { words, format } = useLanguage();
  const texts = words.sequences;
  const navigate = useNavigate();
  const [text, setText] = useState('{}');
  const [problem, setProblem] = useState<string | null>(null);
  const action = useAction('runAutomationSequence', {
    onDone: ({ runId }) => navigate({ to: '/runs/$runId', params: { runId } }),
  });
  const submit = () => {
    let payload: unknown;
    try {
      payload = JSON.parse(text);
    } catch (error) {
      setProblem(format(texts.payloadInvalid, { reason: (error as Error).message }));
      return;
    }
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
      setProblem(texts.payloadObject);
      return;
    }
    setProblem(null);
    action.start({ params: { id }, body: { payload: payload as JsonObject } });
  };
  return (
    <Dialog title={format(texts.runTitle, { name: visibleLine(name) })} onClose={onClose}>
      <p className="mb-3 text-text-muted">{texts.runText}</p>
      <Field label={texts.payload} hint={texts.payloadHint} error={problem}>
        {(attributes) => (
          <TextArea
            {...attributes}
            rows={6}
            spellCheck={false}
            dir="ltr"
            className="font-mono"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <ErrorNote error={action.error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{words.common.cancel}</Button>
        <Button variant="primary" isBusy={action.isPending} onClick={submit}>
          {texts.run}
        </Button>
      </div>
    </Dialog>
  );
}
