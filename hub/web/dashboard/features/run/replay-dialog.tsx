import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { JsonObject } from '../../../../../shared/client/operations.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { fieldErrors } from '../../forms/field-errors.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Select } from '../../ui/form.tsx';
import { JsonField } from '../runs/payload-field.tsx';
import { useStepName } from './names.tsx';
import { effectOf } from './rerun-effects.ts';
import { lastRerunStep } from './run-model.ts';
import type { Run } from './run-model.ts';
import { runInputQuery } from './use-run.ts';

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

/** The newest version of the workflow; null until it is read, and for a deleted workflow. */
function useNewestVersion(run: Run): number | null {
  const { data } = useQuery({
    ...query('getAutomationWorkflow', { params: { id: run.workflowId } }),
    retry: false,
    staleTime: 0,
  });
  return data?.version ?? null;
}

/** Reads the input of the run, to change it. */
function ChangeInput({ run, onRead }: { run: Run; onRead: (payload: JsonObject) => void }) {
  const { replayWords: texts } = useLanguage().words.run;
  const cache = useQueryClient();
  const read = useMutation({
    mutationFn: () => cache.fetchQuery(runInputQuery(run.id)),
    onSuccess: ({ payload }) => onRead(payload ?? {}),
  });
  return (
    <>
      <Button size="small" isBusy={read.isPending} onClick={() => read.mutate()}>
        {texts.changeInput}
      </Button>
      <ErrorNote error={read.error} />
    </>
  );
}

function ChangedInput({
  run,
  isKept,
  problem,
  onChange,
  onKeep,
}: {
  run: Run;
  /** Whether earlier steps keep results that came from the input of the run. */
  isKept: boolean;
  problem: string;
  onChange: (payload: JsonObject | null) => void;
  onKeep: () => void;
}) {
  const { replayWords: texts } = useLanguage().words.run;
  const { data } = useQuery(runInputQuery(run.id));
  return (
    <div className="mb-3">
      <JsonField
        value={data?.payload ?? {}}
        onChange={onChange}
        problem={problem}
        hint={isKept ? texts.inputKept : texts.inputHint}
      />
      <Button size="small" onClick={onKeep}>
        {texts.keepInput}
      </Button>
    </div>
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
  const [version, setVersion] = useState(run.workflowVersion);
  /** The changed input; undefined for that of the run, null while its text is not valid. */
  const [payload, setPayload] = useState<JsonObject | null | undefined>(undefined);
  const action = useAction('replayAutomationRun', { onDone: ({ id }) => onStarted(id) });
  const newest = useNewestVersion(run);
  const errorOf = fieldErrors(action.error);
  const payloadProblem = errorOf('payload');
  const fieldProblems = [payloadProblem, errorOf('fromStep'), errorOf('workflowVersion')].filter(
    (text) => text !== null,
  );
  return (
    <Dialog title={texts.title} isWide={payload !== undefined} onClose={onClose}>
      <p className="mb-3 text-text-muted">{texts.text}</p>
      {newest !== null && newest !== run.workflowVersion && (
        <Field label={texts.version} hint={texts.versionHint} error={errorOf('workflowVersion')}>
          {(attributes) => (
            <Select {...attributes} value={version} onChange={(event) => setVersion(Number(event.target.value))}>
              <option value={run.workflowVersion}>{format(texts.sameVersion, { version: run.workflowVersion })}</option>
              <option value={newest}>{format(texts.newestVersion, { version: newest })}</option>
            </Select>
          )}
        </Field>
      )}
      <Field label={texts.from} hint={texts.fromHint} error={errorOf('fromStep')}>
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
      {payload === undefined ? (
        <p className="mb-3">
          <ChangeInput run={run} onRead={setPayload} />
        </p>
      ) : (
        <ChangedInput
          run={run}
          isKept={chosen > 0}
          problem={payloadProblem ?? ''}
          onChange={(value) => {
            setPayload(value);
            action.reset();
          }}
          onKeep={() => setPayload(undefined)}
        />
      )}
      <Effects run={run} from={chosen} />
      {fieldProblems.length === 0 && <ErrorNote error={action.error} />}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{words.common.cancel}</Button>
        <Button
          variant="primary"
          isBusy={action.isPending}
          disabled={payload === null}
          onClick={() =>
            action.start({
              params: { id: run.id },
              body: {
                fromStep: chosen,
                ...(version === run.workflowVersion ? {} : { workflowVersion: version }),
                ...(payload === undefined || payload === null ? {} : { payload }),
              },
            })
          }
        >
          {texts.start}
        </Button>
      </div>
    </Dialog>
  );
}
