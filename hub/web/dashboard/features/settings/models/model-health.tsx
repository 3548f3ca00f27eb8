import type { ModelHealth } from '../../../../../../shared/client/operations.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useNow } from '../../../app/now.ts';
import { Pill } from '../../../ui/status.tsx';
import type { Tone } from '../../../ui/status.tsx';
import { LocalTime, RelativeTime } from '../../../ui/time.tsx';

const tones: Record<ModelHealth['state'], Tone> = { healthy: 'success', failing: 'warning', paused: 'danger' };

/** Whether a model answers its calls. A model is shown as healthy only after an answer. */
export function HealthPill({
  health: { state, answered },
  hasFailedTest = false,
}: {
  health: ModelHealth;
  /** Whether its last test on this page failed. */
  hasFailedTest?: boolean;
}) {
  const text = useLanguage().words.settings.models;
  if (hasFailedTest && state !== 'paused') return <Pill tone="danger">{text.lastTestFailed}</Pill>;
  if (state === 'healthy' && !answered) return <Pill tone="neutral">{text.notAnswered}</Pill>;
  return <Pill tone={tones[state]}>{text.health[state]}</Pill>;
}

/** Why calls of a model fail or are not sent, since when, and when it is called again. Nothing for a healthy model. */
export function HealthNote({
  health: { state, since, retryAt },
  className = '',
}: {
  health: ModelHealth;
  className?: string;
}) {
  const text = useLanguage().words.settings.models;
  const now = useNow();
  if (state === 'healthy') return null;
  return (
    <p className={`text-sm text-text-muted ${className}`}>
      {text.healthText[state]}{' '}
      {since !== null && (
        <>
          {text.healthSince[state]}: <LocalTime at={since} />.{' '}
        </>
      )}
      {retryAt !== null && (
        <>
          {text.nextTry}: {Date.parse(retryAt) <= now ? text.nextCall : <RelativeTime at={retryAt} />}.
        </>
      )}
    </p>
  );
}
