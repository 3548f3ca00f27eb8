import { readParts } from './parts.ts';
import { printTable } from './table.ts';
import { measureEvents, measureReading } from './voice-records.ts';

const parts = {
  events: 'events of carriers a second',
  records: 'lists, the summary and exports over a million calls (takes minutes)',
};

/** Business Calling: `npm run bench -- voice`. */
export async function benchVoice(args: string[]): Promise<void> {
  const read = readParts('voice', args, parts, { calls: 'how many calls are read; a million unless said' });
  if (read === null) return;
  const { parts: wanted, values } = read;
  if (wanted.has('events')) printTable('Events of carriers, 64 senders', await measureEvents());
  if (wanted.has('records')) {
    const calls = Number(values['calls'] ?? 1_000_000);
    const { lists, exports } = await measureReading(calls);
    printTable(`Reading ${calls.toLocaleString('en')} calls of one workspace`, lists);
    printTable('Exports', exports);
  }
}
