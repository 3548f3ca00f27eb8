import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Select } from '../../ui/form.tsx';
import { useStepName } from './names.tsx';
import { effectOf } from './rerun-effects.ts';
import { lastRerunStep } from './run-model.ts';
import type { Run } from './run-model.ts';

/** Effects that the dialog lists one by one. */
const listedEffects = 30;

/** What happens again when the run starts again at a step. */
function Effects({ run, from }: { run: Run; from: number }) {
  const { words, format } = useLanguage();
  const { replayWords: texts } = words.run;
  const stepName = useStepName();
  const { data, isPending } = useQuery({
    ...query('listAutomationSkillCatalog'),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const catalog = new Map(data?.skills.map(({ id, effect }) => [id, effect]));
  if (isPending) return <p className="text-text-muted">{words.common.loading}</p>;
  const effects = run.stepsResultJson.slice(from).flatMap((step) => {
    const effect = effectOf(step, catalog);
    return effect === null ? [] : [{ step, effect }];
  });
  if (effects.length === 0) return <p className="text-text-muted">{texts.harmless}</p>;
  return (
    <>
      <h3 className="mb-1">{texts.again}</h3>
      <ul className="flex max-h-60 list-disc flex-col gap-1 overflow-y-auto ps-5">
        {effects.slice(0, listedEffects).map(({ step, effect }) => (
          <li key={step.index} className="wrap-anywhere">
            <span className="font-semibold">{stepName(step)}</span>
            {': '}
            {texts.effects[effect]}
            {effect === 'other' && step.skillId !== null && ` (${catalog.get(step.skillId) ?? step.skillId})`}
            {step.status === 'skipped' && <span className="text-text-muted"> {texts.wasSkipped}</span>}
          </li>
        ))}
      </ul>
      {effects.length > listedEffects && <p>{format(texts.more, { count: effects.length - listedEffects })}</p>}
      {run.environment === 'test' && <p className="mt-2 text-text-muted">{texts.test}</p>}
    </>
  );
}

/** Starts the run again from a step that the user chooses, after it named what will happen again. */
export function ReplayDialog({
  run,
  from,
  onStarted,
  onClose,
}: {
  run: Run;
  /** The step that is chosen at first. */
  from: number;
  onStarted: (runId: string) => void;
  onClose: () => void;
}) {
  const { words, format } = useLanguage();
  const { replayWords: texts } = words.run;
  const stepName = useStepName();
  const last = lastRerunStep(run);
  const [chosen, setChosen] = useState(Math.min(from, last));
  const action = useAction('replayAutomationRun', { onDone: ({ id }) => onStarted(id) });
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <p className="mb-3 text-text-muted">{format(texts.text, { version: run.workflowVersion })}</p>
      <Field label={texts.from} hint={texts.fromHint}>
        {(attributes) => (
          <Select {...attributes} value={chosen} onChange={(event) => setChosen(Number(event.target.value))}>
            {run.stepsResultJson.slice(0, last + 1).map((step) => (
              <option key={step.index} value={step.index}>
                {format(texts.option, { position: step.index + 1, name: stepName(step) })}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Effects run={run} from={chosen} />
      <ErrorNote error={action.error} />
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{words.common.cancel}</Button>
        <Button
          variant="primary"
          isBusy={action.isPending}
          onClick={() => action.start({ params: { id: run.id }, body: { fromStep: chosen } })}
        >
          {texts.start}
        </Button>
      </div>
    </Dialog>
  );
}
