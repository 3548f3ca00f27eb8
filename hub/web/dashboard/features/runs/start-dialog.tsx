import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import type { DryRun, JsonObject, Workflow } from '../../../../../shared/client/operations.ts';
import type { WorkflowInputs } from '../../../../../shared/inputs-schema.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { DryRunResult } from './dry-run.tsx';
import { defaultsOf } from './inputs-form.tsx';
import { PayloadField } from './payload-field.tsx';
import { WorkflowChoices } from './picker.tsx';

/** Finds a workflow, asks for its inputs and starts one run. */
export function StartDialog({ workflowId, onClose }: { workflowId?: string; onClose: () => void }) {
  const { runs } = useLanguage().words;
  const [chosen, setChosen] = useState(workflowId ?? null);
  if (chosen === null)
    return (
      <Dialog title={runs.startTitle} onClose={onClose}>
        <WorkflowChoices onChoose={({ id }) => setChosen(id)} />
      </Dialog>
    );
  return (
    <StartWorkflow
      id={chosen}
      onClose={onClose}
      onBack={workflowId === undefined ? () => setChosen(null) : undefined}
    />
  );
}

function StartWorkflow({ id, onClose, onBack }: { id: string; onClose: () => void; onBack: (() => void) | undefined }) {
  const { words, format } = useLanguage();
  const { runs } = words;
  const workflow = useQuery(query('getAutomationWorkflow', { params: { id } }));
  const name = workflow.data?.name;
  return (
    <Dialog
      title={name === undefined ? runs.startTitle : format(runs.startNamed, { name: visibleLine(name) })}
      isWide
      onClose={onClose}
    >
      {onBack !== undefined && (
        <p className="mb-3">
          <button type="button" className="text-accent hover:underline" onClick={onBack}>
            {runs.startOther}
          </button>
        </p>
      )}
      <Loaded of={workflow}>{(data) => <StartForm key={data.id} workflow={data} onClose={onClose} />}</Loaded>
    </Dialog>
  );
}

/** Problems of the payload by its path, such as `payload.city`. */
function problemsOf(error: unknown): ReadonlyMap<string, string> {
  if (!(error instanceof ApiError)) return new Map();
  return new Map(
    error.details.flatMap(({ path, message }) =>
      path.startsWith('body.payload') ? [[path.slice('body.'.length), message] as const] : [],
    ),
  );
}

function StartForm({ workflow, onClose }: { workflow: Workflow; onClose: () => void }) {
  const { words } = useLanguage();
  const { runs, common } = words;
  const navigate = useNavigate();
  const inputs = workflow.inputs as WorkflowInputs | null;
  const [payload, setPayload] = useState<JsonObject>(() => (inputs === null ? {} : defaultsOf(inputs)));
  const [isValid, setValid] = useState(true);
  const [preview, setPreview] = useState<DryRun | null>(null);
  const body = inputs === null && Object.keys(payload).length === 0 ? {} : { payload };
  const run = useAction('runAutomationWorkflow', {
    onDone: (answer) => {
      if ('dryRun' in answer) return;
      onClose();
      background(navigate({ to: '/runs/$runId', params: { runId: answer.runId } }));
    },
  });
  const dryRun = useAction('runAutomationWorkflow', {
    onDone: (answer) => setPreview('dryRun' in answer ? answer : null),
  });
  // The dialog stays busy until the page of the run opens, so that a double click starts one run.
  const isStarting = run.isPending || run.isSuccess;
  // The second click of a double click arrives before the button is disabled.
  const hasStarted = useRef(false);
  if (run.isError) hasStarted.current = false;
  const error = run.error ?? dryRun.error;
  const problems = problemsOf(error);
  const shownError =
    error instanceof ApiError && problems.size > 0 && problems.size === error.details.length ? null : error;
  const change = (value: JsonObject | null) => {
    setValid(value !== null);
    if (value !== null) setPayload(value);
    setPreview(null);
    run.reset();
    dryRun.reset();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isValid || isStarting || hasStarted.current) return;
        hasStarted.current = true;
        run.start({ params: { id: workflow.id }, body });
      }}
    >
      {!workflow.active && (
        <p className="mb-3 rounded-(--radius-medium) bg-warning-muted px-3 py-2 text-warning">{runs.startInactive}</p>
      )}
      <PayloadField inputs={inputs} value={payload} onChange={change} problems={problems} />
      <p className="mb-3 text-sm text-text-muted">
        {workflow.environment === 'test' ? runs.testRun : runs.liveRun} {runs.previewHint}
      </p>
      {preview !== null && <DryRunResult result={preview} />}
      <ErrorNote error={shownError} />
      <div className="sticky bottom-0 -mx-4 -mb-4 flex flex-wrap justify-end gap-2 border-t bg-surface-raised px-4 py-3">
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button
          isBusy={dryRun.isPending}
          disabled={!isValid || isStarting}
          onClick={() => {
            run.reset();
            dryRun.start({ params: { id: workflow.id }, query: { dryRun: 'true' }, body });
          }}
        >
          {runs.preview}
        </Button>
        <Button
          variant="primary"
          type="submit"
          isBusy={isStarting}
          disabled={!workflow.active || !isValid || isStarting}
        >
          {runs.startNow}
        </Button>
      </div>
    </form>
  );
}
