import { weekdays } from '../../../../shared/contract/chat/settings.ts';
import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';

/** Whether a time is within the business hours, in their time zone. Always true if no hours are set. */
export function isOpen(hours: ChatSettings['businessHours'], at: Date): boolean {
  if (hours === null) return true;
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: hours.timeZone,
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(at);
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.find((part) => part.type === type)?.value ?? '';
  const day = weekdays.find((name) => name === of('weekday').toLowerCase());
  const time = `${of('hour')}:${of('minute')}`;
  return hours.periods.some((period) => period.day === day && period.from <= time && time < period.to);
}
