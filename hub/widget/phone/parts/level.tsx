import { useEffect, useRef } from 'preact/hooks';
import type { Phone } from '../phone.ts';

/** What counts as silence, in decibels below the loudest. */
const floorDb = -60;
const percentOf = (level: number) =>
  level <= 0 ? 0 : Math.round(Math.max(0, Math.min(1, 1 - (20 * Math.log10(level)) / floorDb)) * 100);

export interface LevelProps {
  phone: Phone;
  side: keyof Phone['levels'];
  label: string;
  isOn: boolean;
}

/** How loud a side is: drawn past the page's own drawing, since it changes five times a second. */
export function Level({ phone, side, label, isOn }: LevelProps) {
  const meter = useRef<HTMLDivElement>(null);
  useEffect(() => {
    phone.levels[side] = (level) => {
      const percent = percentOf(level);
      meter.current?.style.setProperty('--level', `${percent}%`);
      meter.current?.setAttribute('aria-valuenow', String(percent));
    };
  }, [phone, side]);
  return (
    <div class="side">
      <span aria-hidden="true">{label}</span>
      <div
        ref={meter}
        class={isOn ? 'level' : 'level off'}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={0}
        data-side={side}
      >
        <i />
      </div>
    </div>
  );
}
