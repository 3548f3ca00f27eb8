import type { ComponentChildren } from 'preact';

export interface ProblemProps {
  /** By which tests and styles know it. */
  name: string;
  title?: string;
  text: string;
  /** What can be done about it. */
  children?: ComponentChildren;
}

/** What stands in the way, in words, and what to do. */
export function Problem({ name, title, text, children }: ProblemProps) {
  return (
    <section data-problem={name}>
      {title !== undefined && <h2>{title}</h2>}
      <p>{text}</p>
      {children}
    </section>
  );
}

/** Leads to where to sign in, and from there back to a page such as `/phone`. */
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
