import { useState } from 'react';
import type { JsonObject } from '../../../../../shared/client/operations.ts';
import type { WorkflowInputs } from '../../../../../shared/inputs-schema.ts';
import { useLanguage } from '../../app/language.tsx';
import { Field, TextArea } from '../../ui/form.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { InputsForm } from './inputs-form.tsx';

interface PayloadFieldProps {
  /** Declared inputs; null for any payload. */
  inputs: WorkflowInputs | null;
  value: JsonObject;
  /** Called with null while the text is not a JSON object. */
  onChange: (value: JsonObject | null) => void;
  problems: ReadonlyMap<string, string>;
}

/** The payload of a run: a form of the declared inputs, or JSON. Both edit the same object. */
export function PayloadField({ inputs, value, onChange, problems }: PayloadFieldProps) {
  const { runs } = useLanguage().words;
  const hasForm = inputs !== null && Object.keys(inputs.properties ?? {}).length > 0;
  const [view, setView] = useState<'form' | 'json'>(hasForm ? 'form' : 'json');
  return (
    <>
      {hasForm && (
        <Tabs
          label={runs.payloadView}
          tabs={[
            { name: 'form', label: runs.payloadAsForm },
            { name: 'json', label: runs.payloadAsJson },
          ]}
          selected={view}
          onSelect={(next) => {
            onChange(value);
            setView(next);
          }}
        />
      )}
      {view === 'form' && inputs !== null ? (
        <InputsForm schema={inputs} value={value} path="payload" problems={problems} onChange={onChange} />
      ) : (
        <JsonField
          value={value}
          onChange={onChange}
          problem={[...problems].map(([path, message]) => `${path} ${message}`).join('\n')}
          hint={inputs === null ? `${runs.noInputs} ${runs.payloadHint}` : runs.payloadHint}
        />
      )}
    </>
  );
}

/** A payload as JSON. `onChange` is called with null while the text is not a JSON object. */
export function JsonField({
  value,
  onChange,
  problem,
  hint,
}: Pick<PayloadFieldProps, 'value' | 'onChange'> & { problem: string; hint: string }) {
  const { words, format } = useLanguage();
  const { runs } = words;
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const [textProblem, setTextProblem] = useState<string | null>(null);
  const change = (next: string) => {
    setText(next);
    try {
      const parsed: unknown = next.trim() === '' ? {} : JSON.parse(next);
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
      setTextProblem(isObject ? null : runs.payloadNoObject);
      onChange(isObject ? (parsed as JsonObject) : null);
    } catch (error) {
      setTextProblem(format(runs.payloadInvalid, { message: (error as Error).message }));
      onChange(null);
    }
  };
  return (
    <Field label={runs.payload} hint={hint} error={textProblem ?? (problem === '' ? null : problem)}>
      {(attributes) => (
        <TextArea
          {...attributes}
          className="min-h-40 font-mono text-sm"
          spellCheck={false}
          dir="ltr"
          value={text}
          onChange={(event) => change(event.target.value)}
        />
      )}
    </Field>
  );
}
