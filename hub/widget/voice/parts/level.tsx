import { useEffect, useRef } from 'preact/hooks';
import type { Talk } from '../talk.ts';

/** What counts as silence, in decibels below the loudest. */
const floorDb = -60;
const percentOf = (level: number) =>
  level <= 0 ? 0 : Math.round(Math.max(0, Math.min(1, 1 - (20 * Math.log10(level)) / floorDb)) * 100);

/** How loud it is at the microphone: drawn past the page's own drawing, since it changes 25 times a second. */
export function Level({ talk, label, isOpen }: { talk: Talk; label: string; isOpen: boolean }) {
  const meter = useRef<HTMLDivElement>(null);
  useEffect(() => {
    talk.levels.microphone = (level) => {
      const percent = percentOf(level);
      meter.current?.style.setProperty('--level', `${percent}%`);
      meter.current?.setAttribute('aria-valuenow', String(percent));
    };
  }, [talk]);
  return (
    <div
      ref={meter}
      class={isOpen ? 'level' : 'level off'}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={0}
    >
      <i />
    </div>
  );
}
