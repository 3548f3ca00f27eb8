import { useQuery } from '@tanstack/react-query';
import type { SelectHTMLAttributes } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useWords } from '../../app/language.tsx';
import { Select } from '../../ui/form.tsx';

interface NodeSelectProps extends Omit<SelectHTMLAttributes<HTMLSelectElement>, 'value' | 'onChange'> {
  /** Id of the node; empty for none. */
  value: string;
  onChange: (id: string) => void;
}

/** Chooses one of the nodes of the workspace. */
export function NodeSelect({ value, onChange, ...attributes }: NodeSelectProps) {
  const { notSet } = useWords().runs;
  const nodes = useQuery(query('listAutomationNodes', { query: { limit: 100 } })).data?.data ?? [];
  return (
    <Select {...attributes} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{notSet}</option>
      {value !== '' && !nodes.some(({ id }) => id === value) && <option value={value}>{value}</option>}
      {nodes.map(({ id, name }) => (
        <option key={id} value={id}>
          {visibleLine(name)}
        </option>
      ))}
    </Select>
  );
}
