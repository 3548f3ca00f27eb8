import type { ComponentChildren } from 'preact';

export interface ProblemProps {
  /** Name in the `data-problem` attribute, which tests and styles select. */
  name: string;
  title?: string;
  text: string;
  /** Actions that solve the problem. */
  children?: ComponentChildren;
}

/** Shows a problem and the actions that solve it. */
export function Problem({ name, title, text, children }: ProblemProps) {
  return (
    <section data-problem={name}>
      {title !== undefined && <h2>{title}</h2>}
      <p>{text}</p>
      {children}
    </section>
  );
}

/** Links to the sign-in page, which leads back to `back`, a path such as `/phone`. */
export function SignIn({ words, back }: { words: { signIn: string }; back: string }) {
  return (
    <a class="main" href={`sign-in?to=${back}`}>
      {words.signIn}
    </a>
  );
}

export interface RetryProps {
  label: string;
  onRetry: () => void;
}

export function Retry({ label, onRetry }: RetryProps) {
  return (
    <button type="button" class="second" onClick={onRetry}>
      {label}
    </button>
  );
}
