import { useState } from 'react';
import { useLanguage } from '../../../app/language.tsx';
import { Field, TextArea } from '../../../ui/form.tsx';

/**
 * A value as JSON text. A text that is not JSON, or that `read` refuses, never replaces the value; the form cannot be
 * sent while it is there.
 */
export function JsonField<Value>({
  label,
  hint,
  value,
  read,
  onChange,
  error = null,
  rows = 16,
}: {
  label: string;
  hint?: string;
  value: unknown;
  /** Returns the value of parsed JSON. @throws Error with the reason why it is not one. */
  read: (parsed: unknown) => Value;
  onChange: (value: Value) => void;
  error?: string | null;
  rows?: number;
}) {
  const { settings } = useLanguage().words;
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const [problem, setProblem] = useState<string | null>(null);
  return (
    <Field label={label} hint={hint} error={problem ?? error}>
      {(attributes) => (
        <TextArea
          {...attributes}
          rows={rows}
          spellCheck={false}
          dir="ltr"
          className="font-mono text-sm"
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            let message: string | null = null;
            try {
              onChange(read(JSON.parse(target.value)));
            } catch (failure) {
              message = failure instanceof SyntaxError ? settings.notJson : (failure as Error).message;
            }
            setProblem(message);
            target.setCustomValidity(message ?? '');
          }}
        />
      )}
    </Field>
  );
}
