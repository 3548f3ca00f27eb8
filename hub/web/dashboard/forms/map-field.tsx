import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import { useLanguage } from '../app/language.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { Input } from '../ui/form.tsx';
import type { SchemaFieldProps } from './field-props.ts';
import { isRecord, propertyPath } from './schema.ts';

/** Fields that belong together, with their name, hint and error. */
export function Group({
  label,
  hint,
  error,
  isRequired,
  children,
}: {
  label: string;
  hint: string | undefined;
  error: string | undefined;
  isRequired: boolean;
  children: ReactNode;
}) {
  const { common } = useLanguage().words;
  const id = useId();
  const hasNote = hint !== undefined || error !== undefined;
  return (
    <fieldset className="mb-3 min-w-0" aria-describedby={hasNote ? id : undefined}>
      <legend className="text-sm font-semibold">
        {label}
        {!isRequired && <span className="font-normal text-text-muted"> ({common.optional})</span>}
      </legend>
      {hasNote && (
        <p id={id} className={`mb-1 text-sm ${error === undefined ? 'text-text-muted' : 'text-danger'}`}>
          {error ?? <bdi lang="en">{hint}</bdi>}
        </p>
      )}
      {children}
    </fieldset>
  );
}

/** Names with texts. The rows are kept apart from the value, so that a name can be empty or double while it is typed. */
export function MapField({ schema, value, onChange, label, path, messages, isRequired }: SchemaFieldProps) {
  const { words, format } = useLanguage();
  const [rows, setRows] = useState<readonly (readonly [name: string, text: string])[]>(() =>
    Object.entries(isRecord(value) ? value : {}).map(([name, text]) => [name, String(text)] as const),
  );
  const change = (changed: typeof rows) => {
    setRows(changed);
    onChange(changed.length === 0 && !isRequired ? undefined : Object.fromEntries(changed));
  };
  return (
    <Group label={label} hint={schema.description} error={messages[path]} isRequired={isRequired}>
      {rows.map(([name, text], index) => (
        <div key={index} className="mb-2 grid grid-cols-[minmax(0,1fr)_minmax(0,2fr)_auto] items-start gap-1">
          <div>
            <Input
              aria-label={format(words.forms.nameOf, { number: index + 1 })}
              aria-invalid={messages[propertyPath(path, name)] === undefined ? undefined : true}
              placeholder={words.forms.labels.name}
              value={name}
              spellCheck={false}
              onChange={({ target }) => change(rows.with(index, [target.value, text]))}
            />
            {messages[propertyPath(path, name)] !== undefined && (
              <p role="alert" className="text-sm text-danger">
                {messages[propertyPath(path, name)]}
              </p>
            )}
          </div>
          <Input
            aria-label={format(words.forms.valueOf, { number: index + 1 })}
            placeholder={words.forms.labels.value}
            value={text}
            spellCheck={false}
            onChange={({ target }) => change(rows.with(index, [name, target.value]))}
          />
          <IconButton
            label={format(words.forms.removeItem, { number: index + 1 })}
            onClick={() => change(rows.toSpliced(index, 1))}
          >
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      ))}
      <Button size="small" onClick={() => change([...rows, ['', '']])}>
        <Plus size={14} aria-hidden />
        {words.common.add}
      </Button>
    </Group>
  );
}
