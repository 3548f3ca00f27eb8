import type { Answer } from '../../../app/api.ts';
import { useLanguage } from '../../../app/language.tsx';

const dayMs = 24 * 60 * 60 * 1000;

/** Tokens of each day as bars. The table below has the same numbers. */
export function DayBars({ usage }: { usage: Answer<'getAiUsage'> }) {
  const { words, number } = useLanguage();
  const text = words.settings.aiUsage;
  const tokens = new Map<string, number>();
  for (const { day, inputTokens, outputTokens } of usage.data)
    tokens.set(day, (tokens.get(day) ?? 0) + inputTokens + outputTokens);
  const days: string[] = [];
  for (let at = Date.parse(usage.from); at <= Date.parse(usage.to); at += dayMs)
    days.push(new Date(at).toISOString().slice(0, 10));
  const most = Math.max(1, ...tokens.values());
  return (
    <figure className="mt-4">
      <div aria-hidden className="flex h-24 items-end gap-px border-b">
        {days.map((day) => {
          const count = tokens.get(day) ?? 0;
          return (
            <span
              key={day}
              title={`${day}: ${number(count)}`}
              className="min-w-0 flex-1 rounded-t-xs bg-chart-1"
              style={{ height: `${(count / most) * 100}%` }}
            />
          );
        })}
      </div>
      <figcaption className="mt-1 flex justify-between text-sm text-text-muted">
        <span>{usage.from}</span>
        <span>{text.tokensByDay}</span>
        <span>{usage.to}</span>
      </figcaption>
    </figure>
  );
}
