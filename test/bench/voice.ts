import { readBenchArguments } from './bench-arguments.ts';
import { printTable } from './table.ts';
import { measureCallLists } from './voice-call-lists.ts';
import { measureSetUp } from './voice-call-setup.ts';
import { measureEvents } from './voice-events.ts';
import { measureSoftphones } from './voice-softphones.ts';

const parts = {
  events: 'carrier events per second',
  lists: 'lists with every filter, and totals, over a million calls (takes minutes, and 2 GB of disk)',
  exports: 'exports of a million calls, and their memory',
  register: 'registrations at Kamailio, by the hub and directly (needs Kamailio)',
  'set-up': 'call setup between two browsers, with and without the hub (needs Kamailio and Chromium)',
  relay: 'SIP by the hub, by a relay that does not parse, and directly',
  memory: 'memory of the hub per registered softphone (a minute longer together with relay)',
};

/** Measures Business Calling (`npm run bench -- voice`). */
export async function benchVoice(args: string[]): Promise<void> {
  const read = readBenchArguments('voice', args, parts, {
    calls: 'number of calls to read; default: a million',
    requests: 'requests per combination of filters; default: 100',
    rounds: 'registrations per variant; default: 4,000',
    pairs: 'calls between two browsers per variant; default: 20',
    phones: 'concurrent softphones; default: 2,000',
  });
  if (read === null) return;
  const { parts: wanted, values } = read;
  const count = (name: string, unlessSaid: number) => {
    const value = Number(values[name] ?? unlessSaid);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1 on`);
    return value;
  };
  if (wanted.has('events')) printTable('Events of carriers, 64 senders', await measureEvents());
  if (wanted.has('relay') || wanted.has('memory')) {
    const { relay, memory } = await measureSoftphones(
      { relay: wanted.has('relay'), memory: wanted.has('memory') },
      { rounds: count('rounds', 4_000), phones: count('phones', 2_000) },
    );
    if (relay !== null) printTable('SIP through /sip/ws, one frame after the other, in turn', relay);
    if (memory !== null) printTable('Memory of softphones, after a collection of garbage', memory);
  }
  if (wanted.has('register') || wanted.has('set-up')) {
    const { register, setUp } = await measureSetUp(
      { register: wanted.has('register'), setUp: wanted.has('set-up') },
      { rounds: count('rounds', 4_000), calls: count('pairs', 20) },
    );
    if (register !== null) printTable('Registrations at Kamailio, one after the other, in turn', register);
    if (setUp !== null) printTable('Calls from browser to browser at Kamailio, in turn', setUp);
  }
  if (!wanted.has('lists') && !wanted.has('exports')) return;
  const calls = count('calls', 1_000_000);
  const { lists, exports } = await measureCallLists(calls, count('requests', 100), {
    lists: wanted.has('lists'),
    exports: wanted.has('exports'),
  });
  if (lists !== null) printTable(`Reading ${calls.toLocaleString('en')} calls of one workspace: pages of 50`, lists);
  if (exports !== null) printTable(`Exports of ${calls.toLocaleString('en')} calls`, exports);
}
