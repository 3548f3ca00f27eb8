import { useState } from 'react';
import type { ReactNode } from 'react';
import type { JsonObject, JsonValue } from '../../../../../shared/client/operations.ts';
import type { InputSchema, ObjectSchema } from '../../../../../shared/inputs-schema.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useWords } from '../../app/language.tsx';
import { Field, Input, Select, TextArea } from '../../ui/form.tsx';
import { NodeSelect } from './node-select.tsx';

/** Longer texts get a field with several lines. */
const lineCharacters = 200;

/** The declared defaults. */
export function defaultsOf(schema: ObjectSchema): JsonObject {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      if (property.default !== undefined) return [[name, property.default as JsonValue]];
      if (property.type !== 'object') return [];
      const nested = defaultsOf(property);
      return Object.keys(nested).length === 0 ? [] : [[name, nested as JsonValue]];
    }),
  );
}

interface FormProps<Value> {
  value: Value;
  onChange: (value: Value) => void;
  /** Location in the payload, such as `payload.address`. */
  path: string;
  /** Problems by location, as the hub names them. */
  problems: ReadonlyMap<string, string>;
}

/** A form of the declared inputs. Properties that the form does not know stay in the value. */
export function InputsForm({
  schema,
  value,
  onChange,
  path,
  problems,
}: FormProps<JsonObject> & { schema: ObjectSchema }) {
  const required = new Set(schema.required);
  // The order in which the hub returns properties has no meaning, so required ones come first.
  const properties = Object.entries(schema.properties ?? {}).toSorted(
    ([one], [other]) => Number(required.has(other)) - Number(required.has(one)),
  );
  const unplaced = problems.get(path);
  return (
    <>
      {unplaced !== undefined && <p className="mb-2 text-sm text-danger">{unplaced}</p>}
      {properties.map(([name, property]) => (
        <Property
          key={name}
          name={name}
          schema={property}
          isRequired={required.has(name)}
          value={value[name]}
          path={`${path}.${name}`}
          problems={problems}
          onChange={(next) => {
            const { [name]: _old, ...rest } = value;
            onChange(next === undefined ? rest : { ...rest, [name]: next });
          }}
        />
      ))}
    </>
  );
}

interface PropertyProps extends FormProps<JsonValue | undefined> {
  name: string;
  schema: InputSchema;
  isRequired: boolean;
}

const hintOf = ({ description }: InputSchema): { hint?: ReactNode } =>
  description === undefined ? {} : { hint: visibleText(description) };

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function Property({ name, schema, isRequired, value, onChange, path, problems }: PropertyProps) {
  const { runs, common } = useWords();
  const label = visibleLine(schema.title ?? name);
  const field = { label, ...hintOf(schema), isOptional: !isRequired, error: problems.get(path) ?? null };
  if (schema.type === 'object' && schema.properties !== undefined)
    return (
      <fieldset className="mb-3 rounded-(--radius-medium) border p-3">
        <legend className="px-1 text-sm font-semibold">{label}</legend>
        <InputsForm
          schema={schema}
          value={isObject(value) ? value : {}}
          path={path}
          problems={problems}
          onChange={(next) => onChange(Object.keys(next).length === 0 && !isRequired ? undefined : next)}
        />
      </fieldset>
    );
  if ('enum' in schema && schema.enum !== undefined) {
    const choices = schema.enum;
    return (
      <Field {...field}>
        {(attributes) => (
          <Select
            {...attributes}
            value={choices.findIndex((choice) => choice === value)}
            onChange={(event) => onChange(choices[Number(event.target.value)])}
          >
            <option value={-1}>{runs.notSet}</option>
            {choices.map((choice, index) => (
              <option key={index} value={index}>
                {visibleLine(String(choice))}
              </option>
            ))}
          </Select>
        )}
      </Field>
    );
  }
  switch (schema.type) {
    case 'boolean':
      return (
        <Field {...field}>
          {(attributes) => (
            <Select
              {...attributes}
              value={typeof value === 'boolean' ? String(value) : ''}
              onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value === 'true')}
            >
              <option value="">{runs.notSet}</option>
              <option value="true">{common.yes}</option>
              <option value="false">{common.no}</option>
            </Select>
          )}
        </Field>
      );
    case 'string': {
      const text = typeof value === 'string' ? value : '';
      const change = (next: string) => onChange(next === '' ? undefined : next);
      // Packs name the format; inputs of workflows have none.
      if ('format' in schema && schema.format === 'node')
        return (
          <Field {...field}>{(attributes) => <NodeSelect {...attributes} value={text} onChange={change} />}</Field>
        );
      return (
        <Field {...field}>
          {(attributes) =>
            schema.maxLength === undefined || schema.maxLength <= lineCharacters ? (
              <Input {...attributes} dir="auto" value={text} onChange={(event) => change(event.target.value)} />
            ) : (
              <TextArea
                {...attributes}
                dir="auto"
                rows={3}
                value={text}
                onChange={(event) => change(event.target.value)}
              />
            )
          }
        </Field>
      );
    }
    case 'number':
    case 'integer':
      return (
        <Field {...field}>
          {(attributes) => (
            <Input
              {...attributes}
              type="number"
              step={schema.type === 'integer' ? 1 : 'any'}
              min={schema.minimum}
              max={schema.maximum}
              defaultValue={typeof value === 'number' ? value : ''}
              onChange={(event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))}
            />
          )}
        </Field>
      );
    case 'array':
    case 'object':
      return <JsonProperty {...field} value={value} onChange={onChange} />;
  }
}

/** A list or a free object, as JSON. The text itself is the value while it is invalid. */
function JsonProperty({
  value,
  onChange,
  error,
  ...field
}: Pick<PropertyProps, 'value' | 'onChange'> & {
  label: string;
  hint?: ReactNode;
  isOptional: boolean;
  error: string | null;
}) {
  const { runs } = useWords();
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const [isInvalid, setInvalid] = useState(false);
  const change = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() === '' ? undefined : (JSON.parse(next) as JsonValue));
      setInvalid(false);
    } catch {
      // The hub refuses a text where a list or an object belongs, so that nothing else is started by mistake.
      onChange(next);
      setInvalid(true);
    }
  };
  return (
    <Field {...field} error={isInvalid ? runs.valueInvalid : error}>
      {(attributes) => (
        <TextArea
          {...attributes}
          className="min-h-20 font-mono text-sm"
          spellCheck={false}
          dir="ltr"
          value={text}
          onChange={(event) => change(event.target.value)}
        />
      )}
    </Field>
  );
}
