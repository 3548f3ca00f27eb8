import { useState } from 'react';
import type { ReactNode } from 'react';
import { visibleLine } from '../../shared/visible-text.ts';
import { useAction } from './companion-context.tsx';
import { ActionError, Button, Field, Line } from './controls.tsx';
import { CrossIcon } from './icons.tsx';

interface ListEditorProps {
  label: string;
  hint: ReactNode;
  placeholder: string;
  items: readonly string[];
  empty: string;
  onChange: (items: string[]) => Promise<void>;
}

/** An editable list of short texts. The typed text stays in the field until it was added. */
export function ListEditor({ label, hint, placeholder, items, empty, onChange }: ListEditorProps) {
  const [typed, setTyped] = useState('');
  const action = useAction();
  const text = typed.trim();
  const add = () =>
    action.run(
      () => onChange([...items.filter((item) => item !== text), text]),
      () => setTyped(''),
    );
  return (
    <div className="list-editor">
      <form
        className="inline-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (text !== '') add();
        }}
      >
        <Field
          label={label}
          hint={hint}
          placeholder={placeholder}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button type="submit" disabled={text === '' || action.isBusy}>
          Add
        </Button>
      </form>
      <ActionError action={action} />
      {items.length === 0 ? (
        <p className="list-empty">{empty}</p>
      ) : (
        <ul className="tokens" aria-label={label}>
          {items.map((item) => (
            <li key={item} className="token">
              <code>
                <Line text={item} />
              </code>
              <button
                type="button"
                className="token-remove"
                aria-label={`Remove ${visibleLine(item)}`}
                onClick={() => action.run(() => onChange(items.filter((other) => other !== item)))}
              >
                <CrossIcon size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
