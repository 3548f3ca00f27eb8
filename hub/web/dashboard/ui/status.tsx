import type { ReactNode } from 'react';
import { useWords } from '../app/language.tsx';
import type { Words } from '../app/language.tsx';

export type Tone = 'success' | 'danger' | 'warning' | 'accent' | 'neutral';

const tones: Record<Tone, string> = {
  success: 'bg-success-muted text-success',
  danger: 'bg-danger-muted text-danger',
  warning: 'bg-warning-muted text-warning',
  accent: 'bg-accent-muted text-accent',
  neutral: 'bg-surface-muted text-text-muted',
};

/** A short state, with a coloured dot. */
export function Pill({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full px-2.5 py-px text-sm font-semibold whitespace-nowrap ${tones[tone]}`}
    >
      <span aria-hidden className="size-1.5 rounded-full bg-current" />
      {children}
    </span>
  );
}

export type Status = keyof Words['common']['status'];

/** The tone of each status, the same on every page. */
export const toneOf: Record<Status, Tone> = {
  queued: 'neutral',
  running: 'accent',
  waiting_approval: 'warning',
  succeeded: 'success',
  failed: 'danger',
  cancelled: 'neutral',
  pending: 'warning',
  skipped: 'neutral',
  approved: 'success',
  rejected: 'danger',
  expired: 'neutral',
  online: 'success',
  offline: 'neutral',
  revoked: 'danger',
  paused: 'warning',
  active: 'success',
  inactive: 'neutral',
  open: 'accent',
  resolved: 'success',
  closed: 'neutral',
  snoozed: 'neutral',
};

export function StatusPill({ status }: { status: Status }) {
  const words = useWords().common.status;
  return <Pill tone={toneOf[status]}>{words[status]}</Pill>;
}
