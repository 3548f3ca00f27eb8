import { useQuery } from '@tanstack/react-query';
import { ChevronDown, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Input } from '../../ui/form.tsx';
import { shortId } from '../../ui/object-links.tsx';
import { LocalTime } from '../../ui/time.tsx';
import { hasFilters, isIdPrefix, periods, triggerTypes } from './filters.ts';
import type { Period, RunFilters } from './filters.ts';
import { NodePicker, WorkflowPicker } from './picker.tsx';

export const chip =
  'inline-flex min-h-8 items-center gap-1 rounded-full border border-border-button bg-surface px-2.5 py-1 whitespace-nowrap hover:bg-surface-muted aria-pressed:border-accent aria-pressed:bg-accent-muted aria-pressed:font-semibold aria-pressed:text-accent';
const activeChip = 'border-accent! bg-accent-muted! text-accent! font-semibold';

/** Statuses that each quick filter selects. */
const quick = [
  ['all', undefined],
  ['failed', 'failed'],
  ['waiting', 'queued,waiting_approval'],
  ['running', 'running'],
  ['succeeded', 'succeeded'],
  ['cancelled', 'cancelled'],
] as const;

function ChipSelect({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string | undefined;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string | undefined) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      className={`${chip} field-sizing-content max-w-52 ${value === undefined ? '' : activeChip}`}
    >
      {options.map(([name, text]) => (
        <option key={name} value={name} className="bg-surface text-text">
          {text}
        </option>
      ))}
    </select>
  );
}

/** A filter that is chosen in a dialog; once chosen, a click removes it. */
function ChipChoice({
  label,
  value,
  onOpen,
  onRemove,
}: {
  label: string;
  value: ReactNode;
  onOpen: () => void;
  onRemove: () => void;
}) {
  const { words, format } = useLanguage();
  if (value === undefined)
    return (
      <button type="button" className={chip} aria-haspopup="dialog" onClick={onOpen}>
        {label}
        <ChevronDown size={14} aria-hidden />
      </button>
    );
  return (
    <button
      type="button"
      className={`${chip} ${activeChip} max-w-60`}
      aria-label={format(words.runs.remove, { name: label })}
      onClick={onRemove}
    >
      <span className="truncate">{value}</span>
      <X size={14} aria-hidden className="shrink-0" />
    </button>
  );
}

interface FilterBarProps {
  filters: RunFilters;
  onChange: (change: RunFilters) => void;
  /** Further controls, after the filters. */
  children?: ReactNode;
  /** Whether the list belongs to one workflow. */
  hasWorkflow?: boolean;
}

/** The filters of a list of runs. Each change is a new address. */
export function FilterBar({ filters, onChange, hasWorkflow = true, children }: FilterBarProps) {
  const { words } = useLanguage();
  const texts = words.runs;
  const [picker, setPicker] = useState<'workflow' | 'node' | null>(null);
  const [isOpen, setOpen] = useState(false);
  const { workflow, node, status: _status, ...others } = filters;
  // Small screens show the further filters on demand, or when one of them applies.
  const isShown = isOpen || workflow !== undefined || node !== undefined || hasFilters(others);
  const shown = isShown ? 'contents' : 'hidden md:contents';
  const workflowName = useQuery({
    ...query('getAutomationWorkflow', { params: { id: workflow ?? '' } }),
    enabled: workflow !== undefined && hasWorkflow,
  }).data?.name;
  const nodeName = useQuery({
    ...query('getAutomationNode', { params: { id: node ?? '' } }),
    enabled: node !== undefined,
  }).data?.name;
  const nameOf = (id: string | undefined, name: string | undefined) =>
    id === undefined ? undefined : name === undefined ? shortId(id) : visibleLine(name);
  const triggers: readonly (readonly [string, string])[] = [
    ['', texts.anyTrigger],
    ...triggerTypes.map((type) => [type, texts.triggerType[type]] as const),
  ];
  return (
    <div role="group" aria-label={texts.filters} className="mb-3 flex flex-wrap items-center gap-2">
      <div className="flex gap-2 overflow-x-auto max-md:w-full max-md:pb-1">
        {quick.map(([name, status]) => (
          <button
            key={name}
            type="button"
            className={chip}
            aria-pressed={filters.status === status}
            onClick={() => onChange({ status })}
          >
            {name === 'all' || name === 'waiting' ? texts[name] : words.common.status[name]}
          </button>
        ))}
      </div>
      {!isShown && (
        <button type="button" className={`${chip} md:hidden`} aria-expanded={false} onClick={() => setOpen(true)}>
          {texts.moreFilters}
          <ChevronDown size={14} aria-hidden />
        </button>
      )}
      <div className={shown}>
        {hasWorkflow && (
          <ChipChoice
            label={texts.workflow}
            value={nameOf(workflow, workflowName)}
            onOpen={() => setPicker('workflow')}
            onRemove={() => onChange({ workflow: undefined })}
          />
        )}
        <ChipChoice
          label={texts.node}
          value={nameOf(node, nodeName)}
          onOpen={() => setPicker('node')}
          onRemove={() => onChange({ node: undefined })}
        />
        <ChipSelect
          label={texts.trigger}
          value={filters.trigger}
          options={
            filters.trigger === undefined || triggers.some(([type]) => type === filters.trigger)
              ? triggers
              : [...triggers, [filters.trigger, visibleLine(filters.trigger)]]
          }
          onChange={(trigger) => onChange({ trigger })}
        />
        <ChipSelect
          label={texts.environment}
          value={filters.environment}
          options={[
            ['', texts.anyEnvironment],
            ['live', words.common.live],
            ['test', words.common.test],
          ]}
          onChange={(environment) => onChange({ environment: environment as 'live' | 'test' | undefined })}
        />
        {(filters.from !== undefined || filters.to !== undefined) && (
          <ChipChoice
            label={texts.period}
            value={<Interval from={filters.from} to={filters.to} />}
            onOpen={() => undefined}
            onRemove={() => onChange({ from: undefined, to: undefined })}
          />
        )}
        <ChipSelect
          label={texts.period}
          value={filters.period}
          options={[
            ['', texts.anyPeriod],
            ...(Object.keys(periods) as Period[]).map((period) => [period, texts.periods[period]] as const),
          ]}
          onChange={(period) => onChange({ period: period as Period | undefined, from: undefined, to: undefined })}
        />
        <TextFilter filters={filters} onChange={onChange} />
      </div>
      {children}
      {hasFilters(filters) && (
        <button
          type="button"
          className="px-1 py-1 text-sm text-accent hover:underline"
          onClick={() =>
            onChange({
              status: undefined,
              workflow: undefined,
              node: undefined,
              trigger: undefined,
              environment: undefined,
              code: undefined,
              id: undefined,
              period: undefined,
              from: undefined,
              to: undefined,
            })
          }
        >
          {texts.clearFilters}
        </button>
      )}
      {picker === 'workflow' && (
        <WorkflowPicker
          onClose={() => setPicker(null)}
          onChoose={(id) => {
            setPicker(null);
            onChange({ workflow: id });
          }}
        />
      )}
      {picker === 'node' && (
        <NodePicker
          onClose={() => setPicker(null)}
          onChoose={(id) => {
            setPicker(null);
            onChange({ node: id });
          }}
        />
      )}
    </div>
  );
}

/** A period that a link names, such as that of a bar in a chart. */
function Interval({ from, to }: { from: string | undefined; to: string | undefined }) {
  const timeOf = (at: string | undefined) => (at === undefined ? '…' : <LocalTime at={new Date(at).toISOString()} />);
  return (
    <>
      {timeOf(from)} – {timeOf(to)}
    </>
  );
}

/** Milliseconds without a key after which the text applies. */
const typingMs = 400;

/** The start of an id, or an error code. */
function TextFilter({ filters, onChange }: Pick<FilterBarProps, 'filters' | 'onChange'>) {
  const { idOrCode } = useLanguage().words.runs;
  const applied = filters.id ?? filters.code ?? '';
  const [text, setText] = useState(applied);
  useEffect(() => setText(applied), [applied]);
  useEffect(() => {
    const given = text.trim();
    if (given === applied) return;
    const timer = setTimeout(() => {
      if (given === '') onChange({ id: undefined, code: undefined });
      else if (isIdPrefix(given)) onChange({ id: given, code: undefined });
      // Fewer characters than an id filter takes; error codes are words.
      else if (!/^[0-9]/.test(given)) onChange({ id: undefined, code: given.slice(0, 100) });
    }, typingMs);
    return () => clearTimeout(timer);
  }, [text, applied]);
  return (
    <Input
      type="search"
      aria-label={idOrCode}
      placeholder={idOrCode}
      className="min-w-40 flex-1 basis-40 md:max-w-xs"
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
