import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Sequence } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Page, Section, TextLink } from '../../ui/layout.tsx';
import { LoadedPage } from '../../ui/loaded.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { stepName } from '../workflows/step-name.ts';
import { RunSequenceDialog } from './run-sequence-dialog.tsx';

function Steps({ steps }: { steps: Sequence['steps'] }) {
  const { words, duration, format } = useLanguage();
  return (
    <ol className="flex flex-col gap-2">
      {steps.map((step, index) => {
        const { delaySeconds } = step as { delaySeconds?: number };
        return (
          <li key={index} className="flex flex-wrap items-baseline gap-2">
            <span className="w-6 text-end text-text-muted">{index + 1}</span>
            <span className="wrap-anywhere">{visibleLine(stepName(step))}</span>
            {delaySeconds !== undefined && delaySeconds > 0 && (
              <span className="text-sm text-text-muted">
                {format(words.sequences.wait, { duration: duration(delaySeconds * 1000) })}
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** One sequence: its steps in order, its JSON, and a button that runs it. */
export function SequencePage() {
  const { words } = useLanguage();
  const texts = words.sequences;
  const { sequenceId } = useParams({ from: '/sequences/$sequenceId' });
  const sequence = useQuery(query('getAutomationSequence', { params: { id: sequenceId } }));
  const crumbs = [{ label: words.common.sequences, link: { to: '/sequences' as const } }];
  const [isRunning, setRunning] = useState(false);
  return (
    <LoadedPage of={sequence} type="sequence" missing={words.sequences.missing} crumbs={crumbs}>
      {({ id, name, steps, workflowId }) => (
        <Page
          title={visibleLine(name)}
          crumbs={crumbs}
          actions={
            <Button variant="primary" onClick={() => setRunning(true)}>
              {texts.run}
            </Button>
          }
          meta={
            workflowId !== null && (
              <TextLink to="/runs" search={{ workflow: workflowId }}>
                {texts.workflow}
              </TextLink>
            )
          }
        >
          <div className="flex flex-col gap-3.5">
            <Section title={texts.steps}>
              <Steps steps={steps} />
            </Section>
            <Section title={texts.json}>
              <CodeBlock text={JSON.stringify({ name, steps }, null, 2)} />
            </Section>
          </div>
          {isRunning && <RunSequenceDialog id={id} name={name} onClose={() => setRunning(false)} />}
        </Page>
      )}
    </LoadedPage>
  );
}
