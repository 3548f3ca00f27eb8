import type { ReactNode } from 'react';

const tones = {
  neutral: 'bg-surface-muted text-text-muted',
  warning: 'bg-warning-muted text-warning',
};

/** A remark about the section, such as why something is not possible. */
export const Note = ({ children, tone = 'neutral' }: { children: ReactNode; tone?: keyof typeof tones }) => (
  <div className={`mb-3 rounded-(--radius-medium) px-3 py-2 wrap-anywhere ${tones[tone]}`}>{children}</div>
);
