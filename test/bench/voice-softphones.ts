import { setTimeout as delay } from 'node:timers/promises';
import { maxSipSocketsPerMinute } from '../../shared/contract/calls/sip-socket.ts';
import { startSipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { milliseconds, percentile } from './table.ts';
import { RegisteringPhone, createPhoneUsers, manySignInsSettings, startBareRelay } from './voice-users.ts';
import type { BareRelay, PhoneUser } from './voice-users.ts';

type Row = Record<string, string>;

/** The hub accepts 50 frames a second from each softphone. */
const phonesEach = 20;
const pauseMs = 10;
const settleMs = 5_000;

const atHub = (hub: Pick<BenchHub, 'url'>, { jwt, user }: PhoneUser, domain: string) =>
  RegisteringPhone.open(`${hub.url.replace('http', 'ws')}/sip/ws?token=${jwt}`, {}, user, domain);
const atRelay = (relay: BareRelay, user: string, domain: string) =>
  RegisteringPhone.open(`${relay.url.replace('http', 'ws')}/sip/ws`, { cookie: `user=${user}` }, user, domain);
const atServer = (env: Record<string, string>, user: string) =>
  RegisteringPhone.open(
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
  { hub, env, users }: { hub: Pick<BenchHub, 'url'>; env: Record<string, string>; users: readonly PhoneUser[] },
  rounds: number,
): Promise<Record<'hub' | 'relay' | 'direct', number[]>> {
  await using relay = await startBareRelay(env);
  const domain = env['SIP_DOMAIN'] as string;
  const variants = {
    hub: await Promise.all(users.map((person) => atHub(hub, person, domain))),
    relay: await Promise.all(users.map(({ user }) => atRelay(relay, user, domain))),
    direct: await Promise.all(users.map(({ user }) => atServer(env, user))),
  };
  const samples: Record<keyof typeof variants, number[]> = { hub: [], relay: [], direct: [] };
  const names = Object.keys(variants) as (keyof typeof variants)[];
  const warmUps = users.length * 5;
  for (let round = 0; round < rounds + warmUps; round += 1) {
    // Each variant is first equally often.
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(round + turn) % names.length] as keyof typeof variants;
      const took = await (variants[name][round % users.length] as RegisteringPhone).register();
      if (round >= warmUps) samples[name].push(took);
    }
    // The pause lets other programs run and stays below the frame limit of a softphone.
    if (round % users.length === 0) await delay(pauseMs);
  }
  for (const phone of Object.values(variants).flat()) phone.socket.terminate();
  return samples;
}

/** Rows of a registration comparison. A registration has two frames. */
export function registrationRows(
  what: string,
  samples: Awaited<ReturnType<typeof compareRegistrations>>,
  aims: { took: string; added: string },
): Row[] {
  const direct = percentile(samples.direct, 0.5);
  const row = (name: string, of: number[], aim = '') => ({
    what: name,
    p50: `${percentile(of, 0.5).toFixed(2)} ms`,
    p99: milliseconds(percentile(of, 0.99)),
    'added p50': of === samples.direct ? '' : `${(percentile(of, 0.5) - direct).toFixed(2)} ms`,
    'added to each frame': of === samples.direct ? '' : `${((percentile(of, 0.5) - direct) / 2).toFixed(2)} ms`,
    aim,
  });
  return [
    row(`${what}, directly`, samples.direct),
    row('by a relay that does not parse', samples.relay),
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
  await using hub = await startBenchHub({ ...server.env, ...manySignInsSettings }, { isInspected: true });
  const users = await createPhoneUsers(hub, wanted.memory ? Math.ceil(phones / maxSipSocketsPerMinute) : phonesEach);
  const domain = server.env['SIP_DOMAIN'] as string;
  const relay = wanted.relay
    ? registrationRows(
        'REGISTER to a SIP server that answers at once, and its 200',
        await compareRegistrations({ hub, env: server.env, users: users.slice(0, phonesEach) }, rounds),
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
  const open = async (count: number, one: (index: number) => Promise<RegisteringPhone>) => {
    const opened: RegisteringPhone[] = [];
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
  const first = await open(users.length, (index) => atHub(hub, users[index] as PhoneUser, domain));
  const before = await resident();
  const rest = await open(phones - users.length, (index) =>
    atHub(hub, users[index % users.length] as PhoneUser, domain),
  );
  const after = await resident();
  for (const phone of [...first, ...rest]) phone.socket.terminate();
  await using bare = await startBareRelay(server.env);
  const user = (index: number) => (users[index % users.length] as PhoneUser).user;
  const bareFirst = await open(users.length, (index) => atRelay(bare, user(index), domain));
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
        what: 'the same by a relay that does not parse: two plain sockets',
        resident: each(bareAfter - bareBefore),
        'of that, heap of V8': '',
        aim: '',
      },
    ],
  };
}
