import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Workflow } from '../../../../../shared/client/operations.ts';
import type { WorkflowInputs } from '../../../../../shared/inputs-schema.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { Facts, Section, TextLink } from '../../ui/layout.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { LocalTime, RelativeTime, ZonedTime } from '../../ui/time.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { InputsList } from './inputs-list.tsx';
import { StepsList } from './steps-list.tsx';
import { useTriggerText } from './trigger-text.tsx';
import { documentOf, textOf } from './workflow-document.ts';

/** What starts the workflow and what it does. */
export function WorkflowOverview({ workflow }: { workflow: Workflow }) {
  const { words } = useLanguage();
  const texts = words.workflows;
  const { view } = useSearch({ from: '/workflows/$workflowId/{-$tab}' });
  const navigate = useNavigate({ from: '/workflows/$workflowId/{-$tab}' });
  const triggerText = useTriggerText();
  const { triggerJson, stepsJson, nextRunAt, createdAt, updatedAt, inputs } = workflow;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <Section title={texts.stepsTitle}>
        <Tabs
          label={texts.stepsView}
          tabs={[
            { name: 'list', label: texts.asList },
            { name: 'json', label: texts.asJson },
          ]}
          selected={view ?? 'list'}
          onSelect={(name) =>
            background(navigate({ search: name === 'json' ? { view: name } : {}, replace: true, resetScroll: false }))
          }
        />
        {view === 'json' ? (
          <>
            <CodeBlock label={texts.document} text={textOf(documentOf(workflow))} />
            {triggerJson.type === 'webhook' && <p className="mt-1 text-sm text-text-muted">{texts.tokenHidden}</p>}
          </>
        ) : (
          <StepsList steps={stepsJson} />
        )}
      </Section>
      <div className="flex flex-col gap-4">
        <Section title={texts.trigger}>
          <p className="mb-2 wrap-anywhere">{triggerText(triggerJson)}</p>
          {nextRunAt !== null && (
            <>
              <p className="text-sm text-text-muted">
                {texts.nextRun}: <RelativeTime at={nextRunAt} /> · <ZonedTime at={nextRunAt} />
              </p>
              <TextLink to="/schedules/$workflowId" params={{ workflowId: workflow.id }}>
                {words.common.objectType.schedule}
              </TextLink>
            </>
          )}
        </Section>
        <Section title={texts.inputsTitle}>
          <InputsList inputs={inputs as WorkflowInputs | null} empty={texts.noInputs} />
        </Section>
        <Section title={texts.changed}>
          <Facts
            rows={[
              [texts.lastChange, <LocalTime key="changed" at={updatedAt} />],
              [texts.created, <LocalTime key="created" at={createdAt} />],
            ]}
          />
        </Section>
      </div>
    </div>
  );
}
