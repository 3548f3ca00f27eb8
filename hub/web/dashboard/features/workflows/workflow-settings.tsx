import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { createClient } from '../../../../../shared/client/client.ts';
import type { Workflow } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { fetchAsUser, keyOf, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote, useErrorText } from '../../ui/error.tsx';
import { Switch } from '../../ui/form.tsx';
import { Facts, Section } from '../../ui/layout.tsx';
import { deleteWithUndo, showToast } from '../../ui/toasts.tsx';
import { setDeleted } from './deleted-workflows.ts';

/** A deletion is also sent when the page is left. */
const lastingClient = createClient<Response>({
  baseUrl: '',
  fetch: (url, init) => fetchAsUser(url, { ...init, keepalive: true }),
});

/** State, limits, environment and deletion of a workflow. */
export function WorkflowSettings({ workflow }: { workflow: Workflow }) {
  const { words, format, number } = useLanguage();
  const texts = words.workflows;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const errorText = useErrorText();
  const { id, active, limits, environment } = workflow;
  const name = visibleLine(workflow.name);
  const update = useAction('updateAutomationWorkflow', {
    onDone: (answer) => {
      cache.setQueryData(keyOf('getAutomationWorkflow', { params: { id } }), answer);
      reread(cache, ['listAutomationWorkflowSummaries']);
      showToast(format(answer.active ? texts.turnedOn : texts.turnedOff, { name }));
    },
  });
  const remove = () => {
    deleteWithUndo(format(texts.willBeDeleted, { name }), {
      hide: () => {
        setDeleted(id, true);
        background(navigate({ to: '/workflows' }));
      },
      restore: () => {
        setDeleted(id, false);
        background(navigate({ to: '/workflows/$workflowId/{-$tab}', params: { workflowId: id, tab: 'settings' } }));
      },
      // This page is gone when the time to undo is over.
      remove: () =>
        background(
          lastingClient
            .call('deleteAutomationWorkflow', { params: { id } })
            .then(() => cache.invalidateQueries({ queryKey: ['listAutomationWorkflowSummaries'], refetchType: 'all' }))
            .catch((error: unknown) => showToast(errorText(error), { tone: 'danger' }))
            // The lists no longer contain it, unless another member restored it.
            .finally(() => setDeleted(id, false)),
        ),
    });
  };
  const limitText = (value: number | undefined) => (value === undefined ? texts.unlimited : number(value));
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <Section title={texts.state}>
        <div className="flex items-center gap-3">
          <Switch
            label={texts.enabled}
            isOn={active}
            isDisabled={update.isPending}
            onChange={(isOn) => update.start({ params: { id }, body: { active: isOn } })}
          />
          <span aria-hidden>{texts.enabled}</span>
        </div>
        <p className="mt-1.5 text-sm text-text-muted">{texts.enabledText}</p>
        <ErrorNote error={update.error} />
      </Section>
      <Section title={texts.limits}>
        {limits === null ? (
          <p>{texts.noLimits}</p>
        ) : (
          <Facts
            rows={[
              [texts.maxConcurrentRuns, limitText(limits.maxConcurrentRuns)],
              [texts.maxRunsPerMinute, limitText(limits.maxRunsPerMinute)],
              [texts.onLimit, texts.onLimits[limits.onLimit]],
            ]}
          />
        )}
        <p className="mt-1.5 text-sm text-text-muted">{texts.limitsHint}</p>
      </Section>
      <Section title={texts.environment}>
        <p>{environment === 'test' ? texts.testText : texts.liveText}</p>
      </Section>
      <Section title={texts.deleteTitle}>
        <p className="mb-3 text-text-muted">{texts.deleteText}</p>
        <Button variant="danger" onClick={remove}>
          {texts.deleteWorkflow}
        </Button>
      </Section>
    </div>
  );
}
