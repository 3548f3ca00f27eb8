import { readParts } from './parts.ts';
import { printTable } from './table.ts';
import { measureEvents } from './voice-events.ts';
import { measureReading } from './voice-reading.ts';

const parts = {
  events: 'events of carriers a second',
  lists: 'lists in every filter and sums, over a million calls (takes minutes, and 2 GB of disk)',
  exports: 'exports of a million calls, and what they take of memory',
};

/** Business Calling: `npm run bench -- voice`. */
export async function benchVoice(args: string[]): Promise<void> {
  const read = readParts('voice', args, parts, {
    calls: 'how many calls are read; a million unless said',
    requests: 'how many requests of each combination of filters; 100 unless said',
  });
  if (read === null) return;
  const { parts: wanted, values } = read;
  const count = (name: string, unlessSaid: number) => {
    const value = Number(values[name] ?? unlessSaid);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1 on`);
    return value;
  };
  if (wanted.has('events')) printTable('Events of carriers, 64 senders', await measureEvents());
  if (!wanted.has('lists') && !wanted.has('exports')) return;
  const calls = count('calls', 1_000_000);
  const { lists, exports } = await measureReading(calls, count('requests', 100), {
    lists: wanted.has('lists'),
    exports: wanted.has('exports'),
  });
  if (lists !== null) printTable(`Reading ${calls.toLocaleString('en')} calls of one workspace: pages of 50`, lists);
  if (exports !== null) printTable(`Exports of ${calls.toLocaleString('en')} calls`, exports);
}
