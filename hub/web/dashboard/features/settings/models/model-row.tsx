import { useQueryClient } from '@tanstack/react-query';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useId, useState } from 'react';
import type { ModelHealth } from '../../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { keyOf, useAction } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useIsAdmin } from '../../../app/session.tsx';
import { Button, IconButton } from '../../../ui/button.tsx';
import { Pill } from '../../../ui/status.tsx';
import { CheckRow, ChoiceField, NumberField, TextField } from '../parts/controls.tsx';
import { HealthNote, HealthPill } from './model-health.tsx';
import type { ModelValue } from './model-value.ts';
import { TestResult } from './test-result.tsx';

interface RowProps {
  model: ModelValue;
  /** Null for a model that is not in use or not stored yet. */
  health: ModelHealth | null;
  position: number;
  isLast: boolean;
  /** Version of the stored models. A test says nothing about other versions. */
  version: number;
  /** The hub tests what is stored, so changes must be saved first. */
  isChanged: boolean;
  errorOf: (path: string) => string | null;
  onChange: (changes: Partial<ModelValue>) => void;
  onMove: (by: 1 | -1) => void;
  onRemove: () => void;
}

const micros = 1_000_000;
const fields = ['id', 'provider', 'model', 'baseUrl', 'apiKey', 'prices'];

function Prices({ model, errorOf, onChange }: Pick<RowProps, 'model' | 'errorOf' | 'onChange'>) {
  const { settings } = useLanguage().words;
  const words = settings.models;
  const { prices } = model;
  const set = (changes: Partial<NonNullable<ModelValue['prices']>>) =>
    onChange({ prices: { inputMicros: 0, outputMicros: 0, currency: 'USD', ...prices, ...changes } });
  return (
    <>
      <CheckRow
        label={words.hasPrices}
        hint={words.pricesHint}
        isChecked={prices !== null}
        onChange={(isOn) => (isOn ? set({}) : onChange({ prices: null }))}
      />
      {prices !== null && (
        <div className="mt-1 grid gap-x-4 sm:grid-cols-3">
          <NumberField
            label={words.inputPrice}
            scale={micros}
            min={0}
            step="any"
            required
            value={prices.inputMicros}
            error={errorOf('prices.inputMicros')}
            onChange={(inputMicros) => set({ inputMicros: inputMicros ?? 0 })}
          />
          <NumberField
            label={words.outputPrice}
            scale={micros}
            min={0}
            step="any"
            required
            value={prices.outputMicros}
            error={errorOf('prices.outputMicros')}
            onChange={(outputMicros) => set({ outputMicros: outputMicros ?? 0 })}
          />
          <TextField
            label={settings.aiUsage.currency}
            required
            maxLength={3}
            value={prices.currency}
            error={errorOf('prices.currency')}
            onChange={(currency) => set({ currency: currency.toUpperCase() })}
          />
        </div>
      )}
    </>
  );
}

/** A model with its position, and its fields when it is open. */
export function ModelRow({
  model,
  health,
  position,
  isLast,
  version,
  isChanged,
  errorOf,
  onChange,
  onMove,
  onRemove,
}: RowProps) {
  const { words, format, number } = useLanguage();
  const { common, settings } = words;
  const text = settings.models;
  const isAdmin = useIsAdmin();
  const id = useId();
  const cache = useQueryClient();
  const test = useAction('testAutomationModel', {
    onDone: () => cache.invalidateQueries({ queryKey: keyOf('getAutomationModels') }),
  });
  const [testedVersion, setTestedVersion] = useState<number | null>(null);
  const tested = !isChanged && testedVersion === version ? test.data : undefined;
  const [isEdited, setEdited] = useState(model.id === '');
  const hasError = fields.some((field) => errorOf(field) !== null);
  const isOpen = isEdited || hasError;
  const name = model.id === '' ? text.newModel : visibleLine(model.id);
  return (
    <li className="rounded-(--radius-large) border bg-surface">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3.5 py-2.5">
        <span
          aria-hidden
          className={`flex size-7 shrink-0 items-center justify-center rounded-full text-sm font-semibold ${model.isUsed ? 'bg-accent-muted text-accent' : 'bg-surface-muted text-text-muted'}`}
        >
          {model.isUsed ? number(position + 1) : common.none}
        </span>
        <div className="min-w-0">
          <p className="font-semibold wrap-anywhere">{name}</p>
          <p className="text-sm wrap-anywhere text-text-muted">
            {[text.providers[model.provider], visibleLine(model.model)].filter((part) => part !== '').join(' · ')}
          </p>
        </div>
        {health !== null && <HealthPill health={health} hasFailedTest={tested?.answered === false} />}
        {!model.isUsed && <Pill tone="neutral">{text.unused}</Pill>}
        {!model.apiKeySet && model.apiKey === '' && model.provider !== 'openai-compatible' && (
          <Pill tone="warning">{text.noKey}</Pill>
        )}
        {isAdmin && (
          <span className="ms-auto flex items-center">
            <IconButton
              label={format(text.moveUp, { name })}
              disabled={position === 0}
              className="disabled:opacity-40"
              onClick={() => onMove(-1)}
            >
              <ArrowUp size={16} aria-hidden />
            </IconButton>
            <IconButton
              label={format(text.moveDown, { name })}
              disabled={isLast}
              className="disabled:opacity-40"
              onClick={() => onMove(1)}
            >
              <ArrowDown size={16} aria-hidden />
            </IconButton>
            <Button
              size="small"
              aria-label={`${text.test} ${name}`}
              title={isChanged ? text.testAfterSave : undefined}
              disabled={isChanged}
              isBusy={test.isPending}
              className="me-1.5"
              onClick={() => {
                setTestedVersion(version);
                test.start({ params: { modelId: model.id } });
              }}
            >
              {text.test}
            </Button>
            <Button
              size="small"
              aria-expanded={isOpen}
              aria-controls={id}
              aria-label={`${common.edit} ${name}`}
              onClick={() => setEdited(!isOpen)}
            >
              {isOpen ? common.close : common.edit}
            </Button>
          </span>
        )}
      </div>
      {health !== null && <HealthNote health={health} className="px-3.5 pb-2.5" />}
      {!isChanged && testedVersion === version && <TestResult result={test.data} error={test.error} />}
      <div id={id} hidden={!isOpen} className="border-t px-3.5 pt-3 pb-2.5">
        <div className="grid gap-x-4 sm:grid-cols-2">
          <TextField
            label={text.id}
            hint={text.idHint}
            required
            maxLength={100}
            value={model.id}
            error={errorOf('id')}
            onChange={(value) => onChange({ id: value })}
          />
          <ChoiceField
            label={text.provider}
            value={model.provider}
            choices={(Object.keys(text.providers) as ModelValue['provider'][]).map(
              (each) => [each, text.providers[each]] as const,
            )}
            error={errorOf('provider')}
            onChange={(provider) => onChange({ provider })}
          />
          <TextField
            label={text.model}
            hint={text.modelHint}
            required
            maxLength={200}
            value={model.model}
            error={errorOf('model')}
            onChange={(value) => onChange({ model: value })}
          />
          <TextField
            label={text.baseUrl}
            hint={text.baseUrlHint}
            type="url"
            isOptional={model.provider !== 'openai-compatible'}
            required={model.provider === 'openai-compatible'}
            value={model.baseUrl}
            error={errorOf('baseUrl')}
            onChange={(baseUrl) => onChange({ baseUrl })}
          />
          <TextField
            label={text.apiKey}
            hint={model.apiKeySet ? text.keyKept : text.keyHint}
            type="password"
            autoComplete="off"
            isOptional
            value={model.apiKey}
            error={errorOf('apiKey')}
            onChange={(apiKey) => onChange({ apiKey })}
          />
        </div>
        <CheckRow
          label={text.isUsed}
          hint={text.isUsedHint}
          isChecked={model.isUsed}
          onChange={(isUsed) => onChange({ isUsed })}
        />
        <Prices model={model} errorOf={errorOf} onChange={onChange} />
        <div className="mt-2 flex justify-end">
          <Button size="small" variant="danger" onClick={onRemove}>
            {text.remove}
          </Button>
        </div>
      </div>
    </li>
  );
}
