import type { CallDirection } from '../../../../shared/contract/calls/records.ts';
import { isStorableText } from '../../../../shared/json.ts';
import { isCallTime } from '../records/index.ts';

/** Convert fields of carrier messages. Each function returns null for an invalid value. */

export const callSidLength = 255;

export function textOf(value: unknown, maxLength: number): string | null {
  return typeof value === 'string' && value !== '' && value.length <= maxLength && isStorableText(value) ? value : null;
}

/** Accepts a whole number or its decimal text. */
export function integerBetween(value: unknown, min: number, max: number): number | null {
  const number = typeof value === 'string' && /^[0-9]{1,12}$/.test(value.trim()) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max ? number : null;
}

/** Accepts an ISO 8601 or RFC 5322 date, or seconds since 1970, within the plausible times of a call. */
export function timeOf(value: unknown): Date | null {
  const at =
    typeof value === 'number'
      ? value * 1000
      : typeof value === 'string' && value.length < 100
        ? Date.parse(value)
        : Number.NaN;
  return isCallTime(at) ? new Date(at) : null;
}

/** A mean opinion score from 1 to 5, rounded to hundredths. */
export function mosOf(value: unknown): number | null {
  const score = typeof value === 'string' && value.length < 20 ? Number.parseFloat(value) : value;
  return typeof score === 'number' && score >= 1 && score <= 5 ? Math.round(score * 100) / 100 : null;
}

export function directionOf(value: unknown): CallDirection | null {
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  if (['inbound', 'incoming', 'trunking-originating'].includes(word)) return 'inbound';
  return word.startsWith('outbound') || word === 'outgoing' || word === 'trunking-terminating' ? 'outbound' : null;
}

export const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
