import { Switch } from '@base-ui/react/switch';
import { useId } from 'react';
import type { ButtonHTMLAttributes, InputHTMLAttributes, ReactNode } from 'react';
import { visibleLine, visibleText } from '../../shared/visible-text.ts';
import type { Action } from './companion-context.tsx';
import { WarningIcon } from './icons.tsx';
import type { Tone } from './words.ts';

/** An untrusted text on one line. Invisible characters are shown by name, and its direction is isolated. */
export function Line({ text }: { text: string }) {
  return <bdi>{visibleLine(text)}</bdi>;
}

/** An untrusted text of several lines, shown like `Line`. */
export function Lines({ text }: { text: string }) {
  return <bdi className="lines">{visibleText(text)}</bdi>;
}

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: 'plain' | 'main' | 'danger' | 'quiet';
  size?: 'normal' | 'big' | 'small';
};

export function Button({ variant = 'plain', size = 'normal', className = '', ...rest }: ButtonProps) {
  return <button type="button" className={`button ${variant} ${size} ${className}`} {...rest} />;
}

interface ToggleProps {
  label: string;
  about?: ReactNode;
  isOn: boolean;
  isDisabled?: boolean;
  onChange: (isOn: boolean) => void;
}

/** A switch without a visible label. */
export function Toggle({ label, isOn, isDisabled = false, onChange }: ToggleProps) {
  return (
    <Switch.Root className="switch" aria-label={label} checked={isOn} disabled={isDisabled} onCheckedChange={onChange}>
      <Switch.Thumb className="switch-thumb" />
    </Switch.Root>
  );
}

/** A row of a card with a switch, its label and an explanation. */
export function ToggleRow({ about, ...toggle }: ToggleProps) {
  return (
    <Row title={toggle.label} about={about}>
      <Toggle {...toggle} />
    </Row>
  );
}

/** A row of a card, with text at the start and controls at the end. */
export function Row({ title, about, children }: { title: ReactNode; about?: ReactNode; children?: ReactNode }) {
  return (
    <div className="row">
      <div className="row-text">
        <div className="row-title">{title}</div>
        {about !== undefined && <div className="row-about">{about}</div>}
      </div>
      {children !== undefined && <div className="row-end">{children}</div>}
    </div>
  );
}

interface SectionProps {
  title: string;
  about?: ReactNode;
  end?: ReactNode;
  /** Omits the card around the content. */
  isBare?: boolean;
  children: ReactNode;
}

export function Section({ title, about, end, isBare = false, children }: SectionProps) {
  const id = useId();
  return (
    <section className="section" aria-labelledby={id}>
      <div className="section-head">
        <h2 id={id}>{title}</h2>
        {end}
      </div>
      {about !== undefined && <p className="section-about">{about}</p>}
      <div className={isBare ? undefined : 'card'}>{children}</div>
    </section>
  );
}

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

interface NoticeProps {
  tone: 'bad' | 'warning' | 'plain';
  title?: ReactNode;
  children?: ReactNode;
  end?: ReactNode;
}

export function Notice({ tone, title, children, end }: NoticeProps) {
  return (
    <div className={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <WarningIcon />
      <div className="notice-text">
        {title !== undefined && <strong>{title}</strong>}
        {children !== undefined && <div>{children}</div>}
      </div>
      {end}
    </div>
  );
}

/** Why the latest attempt of an action failed, shown until the next attempt. */
export function ActionError({ action, title = 'The action failed' }: { action: Action; title?: string }) {
  if (action.error === null) return null;
  return (
    <Notice tone="bad" title={title}>
      <Lines text={action.error} />
    </Notice>
  );
}

type FieldProps = InputHTMLAttributes<HTMLInputElement> & {
  label: string;
  hint?: ReactNode;
  /** What is wrong with the value. */
  problem?: string | null;
};

export function Field({ label, hint, problem = null, ...rest }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? [] : `${id}-hint`, problem === null ? [] : `${id}-problem`].flat();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        autoComplete="off"
        spellCheck={false}
        aria-describedby={described.length === 0 ? undefined : described.join(' ')}
        aria-invalid={problem !== null}
        {...rest}
      />
      {hint !== undefined && (
        <div id={`${id}-hint`} className="hint">
          {hint}
        </div>
      )}
      {problem !== null && (
        <div id={`${id}-problem`} className="field-problem" role="alert">
          {problem}
        </div>
      )}
    </div>
  );
}

interface ConsentProps {
  isGiven: boolean;
  onChange: (isGiven: boolean) => void;
  children: ReactNode;
}

export function Consent({ isGiven, onChange, children }: ConsentProps) {
  return (
    <label className="consent">
      <input type="checkbox" checked={isGiven} onChange={(event) => onChange(event.target.checked)} />
      <span>{children}</span>
    </label>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty">{children}</p>;
}
