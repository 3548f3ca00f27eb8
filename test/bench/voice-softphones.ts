import { setTimeout as delay } from 'node:timers/promises';
import { maxSipSocketsPerMinute } from '../../shared/contract/calls/sip-socket.ts';
import { startSipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { milliseconds, percentile } from './table.ts';
import { BarePhone, hirePeople, manyPeople, startBareRelay } from './voice-people.ts';
import type { BareRelay, Person } from './voice-people.ts';

type Row = Record<string, string>;

/** The hub accepts 50 frames a second from each softphone. */
const phonesEach = 20;
const pauseMs = 10;
const settleMs = 5_000;

const atHub = (hub: Pick<BenchHub, 'url'>, { jwt, user }: Person, domain: string) =>
  BarePhone.open(`${hub.url.replace('http', 'ws')}/sip/ws?token=${jwt}`, {}, user, domain);
const atRelay = (relay: BareRelay, user: string, domain: string) =>
  BarePhone.open(`${relay.url.replace('http', 'ws')}/sip/ws`, { cookie: `user=${user}` }, user, domain);
const atServer = (env: Record<string, string>, user: string) =>
  BarePhone.open(
    env['SIP_WS_URL'] as string,
    { 'X-Outrigger-Secret': env['SIP_SHARED_SECRET'] as string, 'X-Outrigger-User': user },
    user,
    env['SIP_DOMAIN'] as string,
  );

/**
 * Measures a REGISTER through the hub, through a minimal relay and directly at the SIP server. The order rotates, so
 * that other load affects all equally.
 */
export async function compareRegistrations(
  { hub, env, people }: { hub: Pick<BenchHub, 'url'>; env: Record<string, string>; people: readonly Person[] },
  rounds: number,
): Promise<Record<'hub' | 'relay' | 'straight', number[]>> {
  await using relay = await startBareRelay(env);
  const domain = env['SIP_DOMAIN'] as string;
  const ways = {
    hub: await Promise.all(people.map((person) => atHub(hub, person, domain))),
    relay: await Promise.all(people.map(({ user }) => atRelay(relay, user, domain))),
    straight: await Promise.all(people.map(({ user }) => atServer(env, user))),
  };
  const samples: Record<keyof typeof ways, number[]> = { hub: [], relay: [], straight: [] };
  const names = Object.keys(ways) as (keyof typeof ways)[];
  const warmUps = people.length * 5;
  for (let round = 0; round < rounds + warmUps; round += 1) {
    // Each variant is first equally often.
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(round + turn) % names.length] as keyof typeof ways;
      const took = await (ways[name][round % people.length] as BarePhone).register();
      if (round >= warmUps) samples[name].push(took);
    }
    // The pause lets other programs run and stays below the frame limit of a softphone.
    if (round % people.length === 0) await delay(pauseMs);
  }
  for (const phone of Object.values(ways).flat()) phone.socket.terminate();
  return samples;
}

/** Rows of a registration comparison. @param frames divides the added time. */
export function registrationRows(
  what: string,
  samples: Awaited<ReturnType<typeof compareRegistrations>>,
  aims: { took: string; added: string },
): Row[] {
  const straight = percentile(samples.straight, 0.5);
  const row = (name: string, of: number[], aim = '') => ({
    what: name,
    p50: `${percentile(of, 0.5).toFixed(2)} ms`,
    p99: milliseconds(percentile(of, 0.99)),
    'added p50': of === samples.straight ? '' : `${(percentile(of, 0.5) - straight).toFixed(2)} ms`,
    'added to each frame': of === samples.straight ? '' : `${((percentile(of, 0.5) - straight) / 2).toFixed(2)} ms`,
    aim,
  });
  return [
    row(`${what}, straight`, samples.straight),
    row('by a relay that reads nothing', samples.relay),
    row('by the hub', samples.hub, [aims.took, aims.added].filter(Boolean).join(', ')),
  ];
}

/**
 * Measures the relay with a SIP server that responds immediately, and the memory of the hub per registered softphone.
 */
export async function measureSoftphones(
  wanted: { relay: boolean; memory: boolean },
  { rounds, phones }: { rounds: number; phones: number },
): Promise<{ relay: Row[] | null; memory: Row[] | null }> {
  await using server = await startSipWebSocketServer();
  await using hub = await startBenchHub({ ...server.env, ...manyPeople }, { isInspected: true });
  const people = await hirePeople(hub, wanted.memory ? Math.ceil(phones / maxSipSocketsPerMinute) : phonesEach);
  const domain = server.env['SIP_DOMAIN'] as string;
  const relay = wanted.relay
    ? registrationRows(
        'REGISTER to a SIP server that answers at once, and its 200',
        await compareRegistrations({ hub, env: server.env, people: people.slice(0, phonesEach) }, rounds),
        { took: '', added: '0.1 ms added to each frame' },
      )
    : null;
  if (!wanted.memory) return { relay, memory: null };
  // After a minute, the softphones may connect again.
  if (wanted.relay) await delay(60_000);
  const resident = async () => {
    await delay(settleMs);
    await hub.collectGarbage();
    await delay(1_000);
    return { resident: (await hub.usage()).residentBytes, heap: await hub.usedHeapBytes() };
  };
  const open = async (count: number, one: (index: number) => Promise<BarePhone>) => {
    const opened: BarePhone[] = [];
    for (let from = 0; from < count; from += 20)
      opened.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(20, count - from) }, async (_, index) => {
            const phone = await one(from + index);
            await phone.register();
            return phone;
          }),
        )),
      );
    return opened;
  };
  // The first softphones load code and caches, which are not counted.
  const first = await open(people.length, (index) => atHub(hub, people[index] as Person, domain));
  const before = await resident();
  const rest = await open(phones - people.length, (index) =>
    atHub(hub, people[index % people.length] as Person, domain),
  );
  const after = await resident();
  for (const phone of [...first, ...rest]) phone.socket.terminate();
  await using bare = await startBareRelay(server.env);
  const user = (index: number) => (people[index % people.length] as Person).user;
  const bareFirst = await open(people.length, (index) => atRelay(bare, user(index), domain));
  const bareBefore = await bare.residentBytes();
  const bareRest = await open(rest.length, (index) => atRelay(bare, user(index), domain));
  const bareAfter = await bare.residentBytes();
  for (const phone of [...bareFirst, ...bareRest]) phone.socket.terminate();
  const each = (bytes: number) => `${(bytes / rest.length / 1024).toFixed(1)} KiB`;
  return {
    relay,
    memory: [
      {
        what: `a softphone of ${phones.toLocaleString('en')} that are registered by the hub`,
        resident: each(after.resident - before.resident),
        'of that, heap of V8': each(after.heap - before.heap),
        aim: '10 KB',
      },
      {
        what: 'the same by a relay that reads nothing: two bare sockets',
        resident: each(bareAfter - bareBefore),
        'of that, heap of V8': '',
        aim: '',
      },
    ],
  };
}
