import { describeEvent } from '../runtime/event-log.ts';
import type { ThrottledEvent } from '../runtime/event-log.ts';

/** A line of the output of a runtime, in readable form. */
interface RuntimeLine {
  /** Without the timestamp of the runtime. */
  text: string;
  /** The reason for the end, if the line reports the end. Else null. */
  reason: string | null;
}

/** Parses a line of output. Events are described in words; other lines stay unchanged. */
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

/** Describes an event. Unknown events are described by their fields. */
function describe({ event, ...rest }: { event: string }): string {
  try {
    const text: unknown = describeEvent({ event, ...rest } as ThrottledEvent);
    if (typeof text === 'string') return text;
  } catch {
    // The event lacks fields of its kind.
  }
  const fields = Object.entries(rest).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return [event, ...fields].join(', ');
}
