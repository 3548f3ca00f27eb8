import { useLanguage } from '../../app/language.tsx';

/** `14:05:09.120` in the time zone of the reader. */
export function clockOf(at: string): string {
  const time = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, '0')}`;
}

/** A time to the millisecond, with the date unless it is today. The tooltip has UTC. */
export function ExactTime({ at }: { at: string }) {
  const { dateTime, format, words } = useLanguage();
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  return (
    <time
      dateTime={at}
      title={`${dateTime(time)}\n${format(words.common.utc, { time: at.replace('T', ' ').replace('Z', '') })}`}
    >
      {isToday ? clockOf(at) : `${dateTime(time)} (${clockOf(at)})`}
    </time>
  );
}
