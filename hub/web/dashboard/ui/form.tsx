import { useId } from 'react';
import type { ComponentProps, InputHTMLAttributes, ReactNode, SelectHTMLAttributes } from 'react';
import { useWords } from '../app/language.tsx';

const control =
  'w-full rounded-(--radius-medium) border border-border-control bg-input px-2.5 py-1.5 text-text aria-invalid:border-danger disabled:opacity-60';

interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null;
  isOptional?: boolean;
  /** Renders the control with these attributes. */
  children: (attributes: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode;
}

/** A labelled control with its hint and its error. */
export function Field({ label, hint, error = null, isOptional = false, children }: FieldProps) {
  const id = useId();
  const { optional } = useWords().common;
  const noteId = `${id}-note`;
  const hasNote = hint !== undefined || error !== null;
  return (
    <div className="mb-3 flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-semibold">
        {label}
        {isOptional && <span className="font-normal text-text-muted"> ({optional})</span>}
      </label>
      {children({
        id,
        ...(hasNote ? { 'aria-describedby': noteId } : {}),
        ...(error === null ? {} : { 'aria-invalid': true as const }),
      })}
      {hasNote && (
        <p id={noteId} className={`text-sm ${error === null ? 'text-text-muted' : 'text-danger'}`}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

export const Input = ({ className = '', ...rest }: InputHTMLAttributes<HTMLInputElement>) => (
  <input className={`${control} ${className}`} {...rest} />
);
export const TextArea = ({ className = '', ...rest }: ComponentProps<'textarea'>) => (
  <textarea className={`${control} ${className}`} {...rest} />
);
export const Select = ({ className = '', ...rest }: SelectHTMLAttributes<HTMLSelectElement>) => (
  <select className={`${control} ${className}`} {...rest} />
);

/** A setting that is on or off and takes effect immediately. */
export function Switch({
  label,
  isOn,
  onChange,
  isDisabled = false,
}: {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  isDisabled?: boolean;
}) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={isOn}
      aria-label={label}
      disabled={isDisabled}
      onClick={() => onChange(!isOn)}
      className="inline-flex h-6 w-10 shrink-0 items-center rounded-full border border-border-control bg-surface-muted p-0.5 transition-colors disabled:opacity-55 aria-checked:border-accent aria-checked:bg-accent"
    >
      <span
        className={`size-4.5 rounded-full transition-transform ${isOn ? 'translate-x-4 bg-on-accent rtl:-translate-x-4' : 'bg-border-control'}`}
      />
    </button>
  );
}
