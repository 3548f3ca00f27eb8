import { useState } from 'react';
import type { ReactNode } from 'react';
import { Field, Input, Select, TextArea } from '../../../ui/form.tsx';
import { Switch } from '../../../ui/form.tsx';

interface ControlProps {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  isOptional?: boolean;
}

export function TextField({
  value,
  onChange,
  label,
  hint,
  error,
  isOptional,
  ...rest
}: ControlProps & {
  value: string;
  onChange: (value: string) => void;
  type?: string;
  required?: boolean;
  maxLength?: number;
  placeholder?: string;
  autoComplete?: string;
  pattern?: string;
  className?: string;
  list?: string;
}) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(attributes) => (
        <Input {...attributes} {...rest} value={value} onChange={(event) => onChange(event.target.value)} />
      )}
    </Field>
  );
}

export function LongTextField({
  value,
  onChange,
  label,
  hint,
  error,
  isOptional,
  ...rest
}: ControlProps & {
  value: string;
  onChange: (value: string) => void;
  rows?: number;
  maxLength?: number;
  /** Keeps the text when the page must be loaded again. */
  'data-keep'?: string;
}) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(attributes) => (
        <TextArea rows={3} {...attributes} {...rest} value={value} onChange={(event) => onChange(event.target.value)} />
      )}
    </Field>
  );
}

/** A list of texts, one a line. Empty lines are ignored. */
export function LinesField({
  value,
  onChange,
  ...rest
}: ControlProps & { value: readonly string[]; onChange: (value: string[]) => void; rows?: number }) {
  const [text, setText] = useState(value.join('\n'));
  const linesOf = (from: string) =>
    from
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  // The text keeps what the user types, such as an empty last line. Another list replaces it.
  const isOwn = linesOf(text).join('\n') === value.join('\n');
  return (
    <LongTextField
      {...rest}
      value={isOwn ? text : value.join('\n')}
      onChange={(next) => {
        setText(next);
        onChange(linesOf(next));
      }}
    />
  );
}

/** A number; empty for null. */
export function NumberField({
  value,
  onChange,
  label,
  hint,
  error,
  isOptional,
  unit,
  scale = 1,
  ...rest
}: ControlProps & {
  value: number | null;
  onChange: (value: number | null) => void;
  unit?: string;
  /** The stored number is the shown one times this. */
  scale?: number;
  min?: number;
  max?: number;
  step?: number | 'any';
  required?: boolean;
  placeholder?: string;
}) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(attributes) => (
        <span className="flex items-center gap-2">
          <Input
            {...attributes}
            {...rest}
            type="number"
            inputMode="decimal"
            className="max-w-40"
            value={value === null ? '' : value / scale}
            onChange={(event) => {
              const number = event.target.valueAsNumber;
              onChange(Number.isNaN(number) ? null : scale === 1 ? number : Math.round(number * scale));
            }}
          />
          {unit !== undefined && <span className="text-text-muted">{unit}</span>}
        </span>
      )}
    </Field>
  );
}

export function ChoiceField<Name extends string>({
  value,
  onChange,
  choices,
  label,
  hint,
  error,
  isDisabled,
}: ControlProps & {
  value: Name;
  onChange: (value: Name) => void;
  choices: readonly (readonly [name: Name, label: string])[];
  isDisabled?: boolean;
}) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => (
        <Select
          {...attributes}
          disabled={isDisabled}
          value={value}
          onChange={(event) => onChange(event.target.value as Name)}
        >
          {choices.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

/** A switch with its label and an explanation beside it. */
export function SwitchRow({
  label,
  hint,
  isOn,
  onChange,
  error = null,
  isDisabled,
}: {
  label: string;
  hint?: ReactNode;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  error?: string | null;
  isDisabled?: boolean;
}) {
  return (
    <div className="mb-3 flex items-start gap-3">
      <Switch label={label} isOn={isOn} onChange={onChange} isDisabled={isDisabled} />
      <div className="min-w-0">
        <p className="text-sm font-semibold">{label}</p>
        {hint !== undefined && <p className="text-sm text-text-muted">{hint}</p>}
        {error !== null && <p className="text-sm text-danger">{error}</p>}
      </div>
    </div>
  );
}

/** A checkbox with its label and an explanation. */
export function CheckRow({
  label,
  hint,
  isChecked,
  onChange,
}: {
  label: ReactNode;
  hint?: ReactNode;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}) {
  return (
    <label className="flex items-start gap-2.5 py-1">
      <input
        type="checkbox"
        className="mt-0.5 size-4 shrink-0 accent-(--color-accent)"
        checked={isChecked}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="min-w-0 wrap-anywhere">
        {label}
        {hint !== undefined && <span className="block text-sm text-text-muted">{hint}</span>}
      </span>
    </label>
  );
}

/** Several controls with a common name. */
export function Group({
  label,
  hint,
  error = null,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  children: ReactNode;
}) {
  return (
    <fieldset className="mb-3 min-w-0">
      <legend className="mb-1 text-sm font-semibold">{label}</legend>
      {hint !== undefined && <p className="mb-1 text-sm text-text-muted">{hint}</p>}
      {children}
      {error !== null && <p className="mt-1 text-sm text-danger">{error}</p>}
    </fieldset>
  );
}
