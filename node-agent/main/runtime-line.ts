import { describeEvent } from '../runtime/event-log.ts';
import type { ToldEvent } from '../runtime/event-log.ts';

/** A line of a runtime's output as a person reads it. */
interface RuntimeLine {
  /** Without the runtime's own time. */
  text: string;
  /** Its last word, where it is one. */
  reason: string | null;
}

/** Reads a line of a runtime's output: an event of its own in words, anything else as it is. */
export function readRuntimeLine(line: string): RuntimeLine {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return { text: line, reason: null };
  }
  if (typeof parsed !== 'object' || parsed === null || !('event' in parsed) || typeof parsed.event !== 'string')
    return { text: line, reason: null };
  const { time: _time, event, ...rest } = parsed as { time?: unknown; event: string; reason?: unknown };
  if (event === 'ended' && typeof rest.reason === 'string') {
    const reason = rest.reason.slice(0, 500);
    return { text: `ended: ${reason}`, reason };
  }
  return { text: describe({ event, ...rest }), reason: null };
}

/** One that nobody described is told by its fields. */
function describe({ event, ...rest }: { event: string }): string {
  try {
    const text: unknown = describeEvent({ event, ...rest } as ToldEvent);
    if (typeof text === 'string') return text;
  } catch {
    // It lacks what its kind has.
  }
  const fields = Object.entries(rest).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return [event, ...fields].join(', ');
}
