import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { AppError } from '../../../../shared/errors.ts';
import { testSecrets } from '../../../../test/fixtures/secrets.ts';
import { LocalEvents } from '../../events/events.ts';
import type { Events } from '../../events/events.ts';
import { accessTopic } from '../auth/principal.ts';
import { LiveStreams } from './live-streams.ts';

const caller = {
  kind: 'token',
  tokenId: 'k',
  tenantId: 't',
  product: 'automations',
  environment: 'live',
  permissions: [],
  ipAllowlist: [],
  entitlements: {},
  expiresAt: null,
} as unknown as Parameters<LiveStreams['open']>[0];

const visitors = { refused: async () => new Map<string, AppError>() };
const right = { right: 'read', isDownload: false };

function localEvents(): Events {
  const local = new LocalEvents(testSecrets, pino({ level: 'silent' }));
  return {
    publish: async (topic, payload) => local.deliver(topic, payload),
    subscribe: (topic, listener) => local.subscribe(topic, listener),
    subscribeFamily: (family, listener) => local.subscribeFamily(family, listener),
    isInterrupted: false,
    onReconnect: (listener) => local.onReconnect(listener),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

test('rights are looked at again without being told, and a database that does not answer ends nothing', async () => {
  using streams = new LiveStreams({
    events: localEvents(),
    visitors,
    shares: { perWorkspace: 9, perKey: 9 },
    recheckMs: 5,
  });
  let checks = 0;
  let refusal: AppError | undefined = new AppError('unavailable', 'The database is out of reach.');
  const check = async () => {
    checks += 1;
    if (refusal !== undefined) throw refusal;
  };
  using one = streams.open(caller, { ...right, check });
  using two = streams.open(caller, { ...right, check });
  await expect.poll(() => checks).toBeGreaterThan(3);
  expect([one.signal.aborted, two.signal.aborted]).toEqual([false, false]);
  refusal = new AppError('token_revoked', 'This API key was revoked.');
  await expect.poll(() => one.signal.aborted && two.signal.aborted).toBe(true);
  expect(one.signal.reason).toBe(refusal);
});

test('streams of one caller under one right are looked at together', async () => {
  using streams = new LiveStreams({
    events: localEvents(),
    visitors,
    shares: { perWorkspace: 50, perKey: 50 },
    recheckMs: 1_000_000,
  });
  let checks = 0;
  using open = new DisposableStack();
  for (let index = 0; index < 50; index += 1) {
    open.use(
      streams.open(caller, {
        ...right,
        check: async () => {
          checks += 1;
        },
      }),
    );
  }
  expect(checks).toBe(1);
});

test('looks at rights do not pile up while one waits for an answer, and what changes meanwhile is looked at after it', async () => {
  const events = localEvents();
  using streams = new LiveStreams({ events, visitors, shares: { perWorkspace: 9, perKey: 9 }, recheckMs: 1_000_000 });
  const looks: PromiseWithResolvers<void>[] = [];
  using stream = streams.open(caller, {
    ...right,
    check: async () => {
      const look = Promise.withResolvers<void>();
      looks.push(look);
      await look.promise;
    },
  });
  for (let told = 0; told < 20; told += 1) await events.publish(accessTopic('t'), {});
  expect(looks).toHaveLength(1);
  looks[0]?.resolve();
  await expect.poll(() => looks.length).toBe(2);
  const refusal = new AppError('token_revoked', 'This API key was revoked.');
  looks[1]?.reject(refusal);
  await expect.poll(() => stream.signal.reason).toBe(refusal);
  expect(looks).toHaveLength(2);
});

test('a stream that ends looks at no other, and the last one of a workspace ends what tells it of rights', () => {
  const events = localEvents();
  const followed = new Set<string>();
  const subscribe: Events['subscribe'] = (topic) => {
    followed.add(topic);
    return { [Symbol.dispose]: () => void followed.delete(topic) };
  };
  using streams = new LiveStreams({
    events: { ...events, subscribe },
    visitors,
    shares: { perWorkspace: 99, perKey: 99 },
    recheckMs: 1_000_000,
  });
  const open = ['t', 't', 't', 'u'].map((tenantId, n) =>
    streams.open({ ...caller, tokenId: `k${n}`, tenantId } as typeof caller, {
      ...right,
      check: async () => undefined,
    }),
  );
  const looks = vi.spyOn(Map.prototype, 'values');
  try {
    open[0]?.[Symbol.dispose]();
    open[1]?.[Symbol.dispose]();
    expect([...followed]).toEqual([accessTopic('t'), accessTopic('u')]);
    open[2]?.[Symbol.dispose]();
    expect([...followed]).toEqual([accessTopic('u')]);
    expect(looks).not.toHaveBeenCalled();
  } finally {
    looks.mockRestore();
  }
});
