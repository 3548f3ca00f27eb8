import { useState } from 'react';
import { useLanguage } from '../app/language.tsx';
import { Field, Input, Select, TextArea } from '../ui/form.tsx';
import type { SchemaFieldProps } from './field-props.ts';
import { kindOf } from './schema.ts';
import type { JsonSchema } from './schema.ts';

/** Texts that may be longer than this are edited in a field of several lines. */
const lineCharacters = 20_000;

/** A field with a default has a value. */
const isOptional = (schema: JsonSchema, isRequired: boolean) => !isRequired && schema.default === undefined;
/** The hub describes fields in English. */
const hintOf = ({ description }: JsonSchema, label: string) =>
  description === undefined || description === label ? undefined : <bdi lang="en">{description}</bdi>;

export function TextField({
  schema,
  value,
  onChange,
  label,
  isRequired,
  messages,
  path,
  isLine = false,
}: SchemaFieldProps) {
  const isLong = !isLine && (schema.maxLength ?? Infinity) > lineCharacters;
  const Control = isLong ? TextArea : Input;
  return (
    <Field
      label={label}
      hint={hintOf(schema, label)}
      error={messages[path] ?? null}
      isOptional={isOptional(schema, isRequired)}
    >
      {(attributes) => (
        <Control
          {...attributes}
          autoComplete="off"
          spellCheck={false}
          {...(isLong ? { rows: 3 } : {})}
          value={typeof value === 'string' ? value : ''}
          onChange={(event: { target: { value: string } }) => {
            const text = event.target.value;
            onChange(text === '' && !isRequired ? undefined : text);
          }}
        />
      )}
    </Field>
  );
}

export function NumberField({ schema, value, onChange, label, isRequired, messages, path }: SchemaFieldProps) {
  return (
    <Field
      label={label}
      hint={hintOf(schema, label)}
      error={messages[path] ?? null}
      isOptional={isOptional(schema, isRequired)}
    >
      {(attributes) => (
        <Input
          {...attributes}
          type="number"
          // The page checks the limits itself, to show them at the field.
          step={schema.type === 'integer' ? 1 : 'any'}
          value={typeof value === 'number' ? value : ''}
          onChange={({ target }) => onChange(target.value === '' ? undefined : target.valueAsNumber)}
        />
      )}
    </Field>
  );
}

export function ChoiceField({ schema, value, onChange, label, isRequired, messages, path }: SchemaFieldProps) {
  const { words } = useLanguage();
  const options = schema.enum ?? [];
  const isUnset = value === undefined;
  return (
    <Field
      label={label}
      hint={hintOf(schema, label)}
      error={messages[path] ?? null}
      isOptional={isOptional(schema, isRequired)}
    >
      {(attributes) => (
        <Select
          {...attributes}
          value={isUnset ? '' : String(options.indexOf(value))}
          onChange={({ target }) => onChange(target.value === '' ? undefined : options[Number(target.value)])}
        >
          {(!isRequired || isUnset) && <option value="">{words.forms.notSet}</option>}
          {options.map((option, index) => (
            <option key={String(option)} value={index}>
              {String(option)}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

/** A switch; for a constant, whether it is set. */
export function CheckField({ schema, value, onChange, label, messages, path }: SchemaFieldProps) {
  const isConstant = kindOf(schema) === 'constant';
  return (
    <Field label={label} hint={hintOf(schema, label)} error={messages[path] ?? null}>
      {(attributes) => (
        <input
          {...attributes}
          type="checkbox"
          className="size-4.5 self-start accent-(--color-accent)"
          checked={isConstant ? value === schema.const : value === true}
          onChange={({ target: { checked } }) => onChange(isConstant ? (checked ? schema.const : undefined) : checked)}
        />
      )}
    </Field>
  );
}

function parse(text: string): { value: unknown } | null {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

export function JsonField({ schema, value, onChange, label, isRequired, messages, path }: SchemaFieldProps) {
  const { words } = useLanguage();
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const error = parse(text) === null ? words.forms.notJson : (messages[path] ?? null);
  return (
    <Field
      label={label}
      hint={hintOf(schema, label) ?? words.forms.asJson}
      error={error}
      isOptional={isOptional(schema, isRequired)}
    >
      {(attributes) => (
        <TextArea
          {...attributes}
          className="font-mono"
          spellCheck={false}
          rows={3}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            const parsed = parse(target.value);
            // Text that is not JSON has no value, so the browser keeps the form from being sent.
            target.setCustomValidity(parsed === null ? words.forms.notJson : '');
            onChange(parsed?.value);
          }}
        />
      )}
    </Field>
  );
}
