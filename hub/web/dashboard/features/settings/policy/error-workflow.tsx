import { useQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { ChoiceField } from '../parts/controls.tsx';

const maxWorkflows = 100;

/** The workflow that runs when another run fails. */
export function ErrorWorkflow({
  value,
  onChange,
  error,
}: {
  value: string | null;
  onChange: (id: string | null) => void;
  error: string | null;
}) {
  const { settings } = useWords();
  const words = settings.policy;
  const workflows = useQuery(
    query('listAutomationWorkflowSummaries', { query: { limit: maxWorkflows, sort: 'name' } }),
  );
  const listed = workflows.data?.data ?? [];
  return (
    <ChoiceField
      label={words.labels.errorWorkflowId}
      hint={words.errorWorkflowHint}
      value={value ?? ''}
      choices={[
        ['', words.noWorkflow],
        ...listed.map(({ id, name }) => [id, visibleLine(name)] as const),
        ...(value === null || listed.some(({ id }) => id === value) ? [] : [[value, value] as const]),
      ]}
      error={error}
      onChange={(id) => onChange(id === '' ? null : id)}
    />
  );
}
