import { useLanguage } from '../../../app/language.tsx';

const dayMs = 24 * 60 * 60 * 1000;

export type BarColour = 'bg-chart-1' | 'bg-chart-2';

/** Parts of a bar, the lowest last. */
type Parts = readonly { colour: BarColour; counts: ReadonlyMap<string, number> }[];

/** Numbers of each day as bars. The page must have the same numbers as text. */
export function DayBars({ from, to, parts, caption }: { from: string; to: string; parts: Parts; caption: string }) {
  const { number } = useLanguage();
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMs) days.push(new Date(at).toISOString().slice(0, 10));
  const totalOf = (day: string) => parts.reduce((sum, { counts }) => sum + (counts.get(day) ?? 0), 0);
  const most = Math.max(1, ...days.map(totalOf));
  return (
    <figure className="mt-4">
      <div aria-hidden className="flex h-24 items-end gap-px border-b">
        {days.map((day) => (
          <span
            key={day}
            title={`${day}: ${number(totalOf(day))}`}
            className="flex h-full min-w-0 flex-1 flex-col justify-end"
          >
            {parts.map(({ colour, counts }) => (
              <span
                key={colour}
                className={`first:rounded-t-xs ${colour}`}
                style={{ height: `${((counts.get(day) ?? 0) / most) * 100}%` }}
              />
            ))}
          </span>
        ))}
      </div>
      <figcaption className="mt-1 flex justify-between gap-2 text-sm text-text-muted">
        <span className="whitespace-nowrap">{from}</span>
        <span className="text-center">{caption}</span>
        <span className="whitespace-nowrap">{to}</span>
      </figcaption>
    </figure>
  );
}
