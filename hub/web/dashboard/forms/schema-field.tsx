import { Plus, X } from 'lucide-react';
import { useLanguage } from '../app/language.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { Field, Select } from '../ui/form.tsx';
import { useLabels } from './field-props.ts';
import type { SchemaFieldProps } from './field-props.ts';
import { CheckField, ChoiceField, JsonField, NumberField, TextField } from './leaf-fields.tsx';
import { Group, MapField } from './map-field.tsx';
import { initialValue, isRecord, itemPath, kindOf, listOf, propertyPath, variantOf } from './schema.ts';
import type { JsonRecord, JsonSchema } from './schema.ts';

/** The properties of an object. Those named in `advanced` are below a line that opens. */
export function PropertyFields({
  schema,
  value,
  onChange,
  path,
  messages,
  advanced = [],
}: Pick<SchemaFieldProps, 'schema' | 'value' | 'onChange' | 'path' | 'messages'> & { advanced?: readonly string[] }) {
  const { words } = useLanguage();
  const labelOf = useLabels();
  const record: JsonRecord = isRecord(value) ? value : {};
  const { required = [], properties = {} } = schema;
  const isAdvanced = (name: string) => advanced.includes(name) && !required.includes(name);
  const fieldOf = ([name, property]: [string, JsonSchema]) => (
    <SchemaField
      key={name}
      schema={property}
      value={record[name]}
      path={propertyPath(path, name)}
      label={labelOf(name)}
      isRequired={required.includes(name)}
      messages={messages}
      onChange={(changed) => {
        const { [name]: _before, ...others } = record;
        onChange(changed === undefined ? others : { ...others, [name]: changed });
      }}
    />
  );
  const entries = Object.entries(properties);
  const more = entries.filter(([name]) => isAdvanced(name));
  const hasMessage = more.some(([name]) =>
    Object.keys(messages).some((field) => field.startsWith(propertyPath(path, name))),
  );
  return (
    <>
      {entries.filter(([name]) => !isAdvanced(name)).map(fieldOf)}
      {more.length > 0 && (
        <details open={hasMessage || undefined} className="mb-3">
          <summary className="mb-2 text-sm text-accent">{words.forms.moreOptions}</summary>
          {more.map(fieldOf)}
        </details>
      )}
    </>
  );
}

/** A switch for an optional group of fields. */
function OptionalGroup({ schema, value, onChange, label }: SchemaFieldProps) {
  const { words, format } = useLanguage();
  if (value !== undefined) return null;
  return (
    <Button size="small" onClick={() => onChange(initialValue(schema))}>
      <Plus size={14} aria-hidden />
      {format(words.forms.set, { name: label })}
    </Button>
  );
}

function ObjectField(props: SchemaFieldProps) {
  const { schema, value, label, path, messages, isRequired } = props;
  return (
    <Group label={label} hint={schema.description} error={messages[path]} isRequired={isRequired}>
      {value === undefined && !isRequired ? (
        <OptionalGroup {...props} />
      ) : (
        <div className="border-s ps-3">
          <PropertyFields {...props} />
        </div>
      )}
    </Group>
  );
}

function ListField({ schema, value, onChange, label, path, messages, isRequired }: SchemaFieldProps) {
  const { words, format } = useLanguage();
  const { items = {}, maxItems = Infinity } = schema;
  const list = listOf(value);
  const change = (changed: readonly unknown[]) => onChange(changed.length === 0 && !isRequired ? undefined : changed);
  return (
    <Group label={label} hint={schema.description} error={messages[path]} isRequired={isRequired}>
      <ol>
        {list.map((item, index) => (
          // Items have no identity of their own.
          <li key={index} className="flex items-start gap-1">
            <div className="min-w-0 flex-1 [&_label]:font-normal [&_label]:text-text-muted">
              <SchemaField
                schema={items}
                value={item}
                path={itemPath(path, index)}
                label={format(words.forms.item, { number: index + 1 })}
                isRequired
                isLine
                messages={messages}
                onChange={(changed) => change(list.with(index, changed))}
              />
            </div>
            <IconButton
              label={format(words.forms.removeItem, { number: index + 1 })}
              className="mt-5"
              onClick={() => change(list.toSpliced(index, 1))}
            >
              <X size={16} aria-hidden />
            </IconButton>
          </li>
        ))}
      </ol>
      {list.length < maxItems && (
        <Button size="small" onClick={() => change([...list, initialValue(items)])}>
          <Plus size={14} aria-hidden />
          {words.common.add}
        </Button>
      )}
    </Group>
  );
}

/** A value in one of several forms, such as the ways to name an element of a page. */
function VariantsField(props: SchemaFieldProps) {
  const { schema, value, onChange, label, path, messages, isRequired } = props;
  const { words } = useLanguage();
  const labelOf = useLabels();
  const variants = schema.anyOf ?? [];
  const isUnset = value === undefined;
  const selected = variantOf(schema, value);
  const variant = variants[selected];
  const nameOf = (one: JsonSchema) =>
    (one.required ?? []).length > 0 ? (one.required ?? []).map(labelOf).join(', ') : (one.type ?? '');
  return (
    <Group label={label} hint={schema.description} error={messages[path]} isRequired={isRequired}>
      <div className="border-s ps-3">
        <Field label={words.forms.kind}>
          {(attributes) => (
            <Select
              {...attributes}
              value={isUnset ? '' : selected}
              onChange={({ target }) =>
                onChange(target.value === '' ? undefined : initialValue(variants[Number(target.value)] ?? {}))
              }
            >
              {(!isRequired || isUnset) && <option value="">{words.forms.notSet}</option>}
              {variants.map((one, index) => (
                <option key={index} value={index}>
                  {nameOf(one)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {!isUnset && variant !== undefined && kindOf(variant) === 'object' && (
          <PropertyFields key={selected} {...props} schema={variant} />
        )}
        {!isUnset && variant !== undefined && kindOf(variant) !== 'object' && variant.type !== 'null' && (
          <SchemaField key={selected} {...props} schema={variant} messages={{}} isRequired />
        )}
      </div>
    </Group>
  );
}

/** Edits a value of a schema. */
export function SchemaField(props: SchemaFieldProps) {
  switch (kindOf(props.schema)) {
    case 'text':
      return <TextField {...props} />;
    case 'number':
      return <NumberField {...props} />;
    case 'choice':
      return <ChoiceField {...props} />;
    case 'boolean':
    case 'constant':
      return <CheckField {...props} />;
    case 'object':
      return <ObjectField {...props} />;
    case 'list':
      return <ListField {...props} />;
    case 'map':
      return <MapField {...props} />;
    case 'variants':
      return <VariantsField {...props} />;
    case 'json':
      return <JsonField {...props} />;
  }
}
