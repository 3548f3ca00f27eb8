import type { ReactNode, Ref } from 'react';

const tones = {
  warning: 'border-s-warning',
  danger: 'border-s-danger',
  neutral: 'border-s-border-control',
} as const;

/** What a reader must know first, with the buttons for the next step. */
export function Banner({
  ref,
  tone,
  title,
  children,
  actions,
}: {
  ref?: Ref<HTMLElement>;
  tone: keyof typeof tones;
  title: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <section
      ref={ref}
      className={`mb-3.5 flex flex-wrap items-center gap-x-4 gap-y-2.5 rounded-(--radius-large) border border-s-4 bg-surface px-4 py-3 ${tones[tone]}`}
    >
      <div className="min-w-0 flex-1 basis-80">
        <h2 className="wrap-anywhere">{title}</h2>
        {children !== undefined && <div className="text-text-muted wrap-anywhere">{children}</div>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
    </section>
  );
}
