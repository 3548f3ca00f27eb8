import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { showToast } from '../../ui/toasts.tsx';
import { NewerRun } from './newer-run.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { isFinal } from './run-model.ts';
import type { Run } from './run-model.ts';
import { runQuery } from './use-run.ts';

/** The runs of the flow: the run and its retries, oldest first. */
export const useFlow = (run: Run, isNeeded: boolean) =>
  useQuery({
    ...query('getAutomationFlow', { params: { id: run.flowId } }),
    enabled: isNeeded,
  });

/** Whether a retry or replay can follow the run. Only the latest run of a flow can run again. */
export function useLatestRunId(run: Run): string | null {
  const flow = useFlow(run, isFinal(run.status));
  return flow.data?.runs.at(-1)?.id ?? null;
}

/** The version of the workflow, if it is newer than the one of a run that can be retried. */
export function useNewerVersion(run: Run): number | null {
  const latestId = useLatestRunId(run);
  const canRetry = run.status === 'failed' || run.status === 'cancelled';
  const { data } = useQuery({
    ...query('getAutomationWorkflow', { params: { id: run.workflowId } }),
    enabled: canRetry && latestId === run.id,
    staleTime: 0,
  });
  return data === undefined || !canRetry || data.version <= run.workflowVersion ? null : data.version;
}

type OpenDialog = 'cancel' | 'retry' | 'replay' | 'newer' | null;

/** Cancel, Retry, Replay and a run of the newer version. Retry asks first when the hub does not know whether the failed step had an effect. */
export function RunActions({ run, selected }: { run: Run; selected: number }) {
  const { words, format } = useLanguage();
  const { actions } = words.run;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const latestId = useLatestRunId(run);
  const cancel = useAction('cancelAutomationRun', {
    onDone: () => {
      setDialog(null);
      showToast(actions.cancelled);
      reread(cache, ['getAutomationRun']);
    },
  });
  const onStarted = (runId: string) => {
    setDialog(null);
    reread(cache, ['getAutomationFlow']);
    background(cache.prefetchQuery(runQuery(runId)));
    background(navigate({ to: '/runs/$runId', params: { runId } }));
    showToast(actions.started);
  };
  const retry = useAction('retryAutomationRun', { onDone: ({ id }) => onStarted(id) });
  const newer = useNewerVersion(run);
  const canRetry = run.status === 'failed' || run.status === 'cancelled';
  const isLatest = latestId === null || latestId === run.id;
  const startRetry = () => retry.start({ params: { id: run.id } });
  return (
    <>
      {/* First, so that it does not appear under a pointer that just started a retry with the last button. */}
      {!isFinal(run.status) && (
        <Button variant="danger" onClick={() => setDialog('cancel')}>
          {actions.cancel}
        </Button>
      )}
      <ButtonLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: run.workflowId }}>
        {actions.openWorkflow}
      </ButtonLink>
      {isFinal(run.status) && !isLatest && (
        <ButtonLink variant="primary" to="/runs/$runId" params={{ runId: latestId }}>
          {actions.openLatest}
        </ButtonLink>
      )}
      {isFinal(run.status) && isLatest && (
        <Button onClick={() => setDialog('replay')} disabled={retry.isPending}>
          {actions.replay}
        </Button>
      )}
      {newer !== null && isLatest && (
        <Button onClick={() => setDialog('newer')} disabled={retry.isPending}>
          {format(actions.runNewer, { version: String(newer) })}
        </Button>
      )}
      {canRetry && isLatest && (
        <Button
          variant="primary"
          isBusy={retry.isPending}
          onClick={() => (run.error?.code === 'outcome_unknown' ? setDialog('retry') : startRetry())}
        >
          {newer === null ? actions.retry : format(actions.retryVersion, { version: String(run.workflowVersion) })}
        </Button>
      )}
      {dialog === null && retry.error !== null && (
        <div className="w-full">
          <ErrorNote error={retry.error} title={actions.retryFailed} />
        </div>
      )}
      {dialog === 'cancel' && !isFinal(run.status) && (
        <Confirm
          title={actions.cancelTitle}
          confirm={actions.cancelConfirm}
          keep={actions.keep}
          action={cancel}
          onConfirm={() => cancel.start({ params: { id: run.id } })}
          onClose={() => setDialog(null)}
        >
          {actions.cancelText}
        </Confirm>
      )}
      {dialog === 'retry' && (
        <Confirm
          title={actions.retryTitle}
          confirm={actions.retry}
          action={retry}
          onConfirm={startRetry}
          onClose={() => setDialog(null)}
        >
          {format(actions.retryText, { position: (run.error?.stepIndex ?? 0) + 1 })}
        </Confirm>
      )}
      {dialog === 'newer' && newer !== null && <NewerRun run={run} version={newer} onClose={() => setDialog(null)} />}
      {dialog === 'replay' && (
        <ReplayDialog run={run} from={selected} onStarted={onStarted} onClose={() => setDialog(null)} />
      )}
    </>
  );
}
