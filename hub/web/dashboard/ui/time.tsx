import type { ReactNode } from 'react';
import { useLanguage } from '../app/language.tsx';
import { useNow } from '../app/now.ts';

/** `2026-11-27 14:05:09.120`, the time that the API sends, without its letters. */
const utcOf = (at: string) => at.replace('T', ' ').replace('Z', '');

/** Distance from now, such as "2 hours ago". The tooltip has the local time and UTC. */
export function RelativeTime({ at }: { at: string }) {
  const { relative, dateTime, format, words } = useLanguage();
  const now = useNow();
  const time = new Date(at);
  const ms = time.getTime() - now;
  // The clocks of hub and browser can still differ by a second.
  const isNow = ms > -60_000 && ms < 2_000;
  return (
    <time dateTime={at} title={`${dateTime(time)}\n${format(words.common.utc, { time: utcOf(at) })}`}>
      {isNow ? words.common.justNow : relative(ms)}
    </time>
  );
}

/** Local time, with the date unless it is today. The tooltip has UTC. */
export function LocalTime({ at }: { at: string }) {
  const { shortDateTime, format, words } = useLanguage();
  const now = useNow();
  return (
    <time dateTime={at} title={format(words.common.utc, { time: utcOf(at) })}>
      {shortDateTime(new Date(at), new Date(now))}
    </time>
  );
}

/** Local time of the day. The tooltip has the date, and UTC. */
export function TimeOfDay({ at }: { at: string }) {
  const { time, dateTime, format, words } = useLanguage();
  const point = new Date(at);
  return (
    <time dateTime={at} title={`${dateTime(point)}\n${format(words.common.utc, { time: utcOf(at) })}`}>
      {time(point)}
    </time>
  );
}

/** Date and time with the weekday, in a time zone; in that of the reader when omitted. The tooltip has UTC. */
export function ZonedTime({ at, timeZone }: { at: string; timeZone?: string }) {
  const { variant, format, words } = useLanguage();
  const text = new Intl.DateTimeFormat(variant, {
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  }).format(new Date(at));
  return (
    <time dateTime={at} title={format(words.common.utc, { time: utcOf(at) })}>
      {text}
    </time>
  );
}

/** A text with an element in place of its placeholder `{time}`. `values` are those of its other placeholders. */
export function TextWithTime({
  text,
  time,
  values = {},
}: {
  text: string;
  time: ReactNode;
  values?: Record<string, string>;
}) {
  const { format } = useLanguage();
  const [before = '', after = ''] = text.split('{time}').map((part) => format(part, values));
  return (
    <>
      {before}
      {time}
      {after}
    </>
  );
}

/** Time from one point to another, or until now. */
export function Duration({ from, to }: { from: string; to: string | null }) {
  const { duration } = useLanguage();
  const now = useNow();
  return <>{duration(Math.max(0, (to === null ? now : Date.parse(to)) - Date.parse(from)))}</>;
}
