import { useEffect, useRef } from 'preact/hooks';

/** Levels at or below this value are drawn as silence, in decibels relative to full scale. */
const silenceDb = -60;
const toPercent = (level: number) =>
  level <= 0 ? 0 : Math.round(Math.max(0, Math.min(1, 1 - (20 * Math.log10(level)) / silenceDb)) * 100);

/** Callbacks that receive the level of each side, from 0 to 1. */
export type LevelListeners = Record<'microphone' | 'answer', (level: number) => void>;

export interface LevelProps {
  levels: LevelListeners;
  side: keyof LevelListeners;
  label: string;
  isOn: boolean;
}

/**
 * Shows the level of one side. The DOM is updated without a render, because the level changes up to 25 times a second.
 */
export function Level({ levels, side, label, isOn }: LevelProps) {
  const meter = useRef<HTMLDivElement>(null);
  useEffect(() => {
    levels[side] = (level) => {
      const percent = toPercent(level);
      meter.current?.style.setProperty('--level', `${percent}%`);
      meter.current?.setAttribute('aria-valuenow', String(percent));
    };
  }, [levels, side]);
  return (
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
  );
}
