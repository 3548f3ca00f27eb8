import { Link } from '@tanstack/react-router';
import type { LinkProps } from '@tanstack/react-router';
import type { ButtonHTMLAttributes, ComponentProps, ReactNode } from 'react';

type Variant = 'primary' | 'secondary' | 'quiet' | 'danger';

const shape =
  'inline-flex min-h-9 items-center justify-center gap-2 rounded-(--radius-medium) border px-3 py-1.5 font-semibold whitespace-nowrap no-underline disabled:cursor-default disabled:opacity-55';
const variants: Record<Variant, string> = {
  primary: 'border-accent bg-accent text-on-accent hover:not-disabled:bg-accent-hover',
  secondary: 'border-border-button bg-surface text-text hover:not-disabled:bg-surface-muted',
  quiet: 'border-transparent bg-transparent text-text hover:not-disabled:bg-hover',
  danger: 'border-danger bg-surface text-danger hover:not-disabled:bg-danger-muted',
};
const small = 'min-h-7! px-2! py-0.5! text-sm';

interface Look {
  variant?: Variant;
  size?: 'small' | 'medium';
  children: ReactNode;
}

const classOf = ({ variant = 'secondary', size = 'medium' }: Omit<Look, 'children'>, extra = '') =>
  `${shape} ${variants[variant]} ${size === 'small' ? small : ''} ${extra}`;

/** A button. While `isBusy`, it is disabled and shows that it works. */
export function Button({
  variant,
  size,
  isBusy = false,
  className,
  disabled,
  ...rest
}: Look & ComponentProps<'button'> & { isBusy?: boolean }) {
  return (
    <button
      type="button"
      className={classOf({ variant, size }, className)}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
      {...rest}
    />
  );
}

/** A link to a page of the dashboard that looks like a button. */
export function ButtonLink({ variant, size, children, ...link }: Look & LinkProps) {
  return (
    <Link className={classOf({ variant, size })} {...link}>
      {children}
    </Link>
  );
}

/** A button that shows only an icon. `label` is its name for screen readers and its tooltip. */
export function IconButton({
  label,
  children,
  className = '',
  ...rest
}: { label: string; children: ReactNode } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-9 items-center justify-center rounded-(--radius-medium) text-text-muted hover:bg-hover hover:text-text ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}
