import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { background } from '../../../../../shared/web/background.ts';
import { useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import type { Run } from './run-model.ts';
import { runInputQuery, runQuery } from './use-run.ts';

/** Runs the newest version of the workflow with the input of a run, from the first step. */
export function NewerRun({ run, version, onClose }: { run: Run; version: number; onClose: () => void }) {
  const { words, format } = useLanguage();
  const { actions } = words.run;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const params = { id: run.workflowId };
  const action = useAction('runAutomationWorkflow', {
    onDone: (answer) => {
      if (!('runId' in answer)) return;
      onClose();
      background(cache.prefetchQuery(runQuery(answer.runId)));
      background(navigate({ to: '/runs/$runId', params: { runId: answer.runId } }));
    },
  });
  const start = useMutation({
    mutationFn: async () => {
      const { payload, context } = await cache.fetchQuery(runInputQuery(run.id));
      const body = { ...(payload === null ? {} : { payload }), ...(context === null ? {} : { context }) };
      await action.run({ params, body });
    },
  });
  return (
    <Confirm
      title={format(actions.runNewerTitle, { version: String(version) })}
      confirm={format(actions.runNewerConfirm, { version: String(version) })}
      isDangerous={false}
      action={start}
      onConfirm={() => start.mutate()}
      onClose={onClose}
    >
      {actions.runNewerText}
    </Confirm>
  );
}
