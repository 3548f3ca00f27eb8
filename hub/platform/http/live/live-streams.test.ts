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

const logger = pino({ level: 'silent' });

function localEvents(): Events {
  const local = new LocalEvents(testSecrets, logger);
  return {
    publish: (topic, payload) => local.deliver(topic, payload),
    subscribe: (topic, listener) => local.subscribe(topic, listener),
    subscribeFamily: (family, listener) => local.subscribeFamily(family, listener),
    isInterrupted: false,
    onReconnect: (listener) => local.onReconnect(listener),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

test('access is checked periodically without an access change, and an unavailable database ends no stream', async () => {
  using streams = new LiveStreams({
    events: localEvents(),
    visitors,
    limits: { perWorkspace: 9, perKey: 9 },
    logger,
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

test('streams of one caller with one right share a check', async () => {
  using streams = new LiveStreams({
    events: localEvents(),
    visitors,
    limits: { perWorkspace: 50, perKey: 50 },
    logger,
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

test('checks do not pile up during a slow check, and access changes during a check cause one more check', async () => {
  const events = localEvents();
  using streams = new LiveStreams({
    events,
    visitors,
    limits: { perWorkspace: 9, perKey: 9 },
    logger,
    recheckMs: 1_000_000,
  });
  const checks: PromiseWithResolvers<void>[] = [];
  using stream = streams.open(caller, {
    ...right,
    check: async () => {
      const running = Promise.withResolvers<void>();
      checks.push(running);
      await running.promise;
    },
  });
  for (let published = 0; published < 20; published += 1) events.publish(accessTopic('t'), {});
  expect(checks).toHaveLength(1);
  checks[0]?.resolve();
  await expect.poll(() => checks.length).toBe(2);
  const refusal = new AppError('token_revoked', 'This API key was revoked.');
  checks[1]?.reject(refusal);
  await expect.poll(() => stream.signal.reason).toBe(refusal);
  expect(checks).toHaveLength(2);
});

test('ending a stream iterates over no other stream, and ending the last one of a workspace removes its subscription', () => {
  const events = localEvents();
  const followed = new Set<string>();
  const subscribe: Events['subscribe'] = (topic) => {
    followed.add(topic);
    return { [Symbol.dispose]: () => void followed.delete(topic) };
  };
  using streams = new LiveStreams({
    events: { ...events, subscribe },
    visitors,
    limits: { perWorkspace: 99, perKey: 99 },
    logger,
    recheckMs: 1_000_000,
  });
  const open = ['t', 't', 't', 'u'].map((tenantId, n) =>
    streams.open({ ...caller, tokenId: `k${n}`, tenantId } as typeof caller, {
      ...right,
      check: async () => undefined,
    }),
  );
  const iterations = vi.spyOn(Map.prototype, 'values');
  try {
    open[0]?.[Symbol.dispose]();
    open[1]?.[Symbol.dispose]();
    expect([...followed]).toEqual([accessTopic('t'), accessTopic('u')]);
    open[2]?.[Symbol.dispose]();
    expect([...followed]).toEqual([accessTopic('u')]);
    expect(iterations).not.toHaveBeenCalled();
  } finally {
    iterations.mockRestore();
  }
});

test('the sessions of one user share a limit, and the streams of other users are not refused', () => {
  using streams = new LiveStreams({
    events: localEvents(),
    visitors,
    limits: { perWorkspace: 4, perKey: 2 },
    logger,
    recheckMs: 1_000_000,
  });
  using open = new DisposableStack();
  const openAs = (userId: string, sessionId: string) => {
    const user = { id: userId, email: `${userId}@example.org`, role: 'member', displayName: null };
    const session = { ...caller, kind: 'session', sessionId, user, expiresAt: new Date(Date.now() + 3_600_000) };
    return open.use(streams.open(session as unknown as typeof caller, { ...right, check: async () => undefined }));
  };
  openAs('ada', 's1');
  const second = openAs('ada', 's2');
  expect(() => openAs('ada', 's3')).toThrow('This user has reached its limit of 2 open streams and downloads');
  openAs('ben', 's4');
  openAs('ben', 's5');
  second[Symbol.dispose]();
  openAs('ada', 's6');
  expect(() => openAs('cem', 's7')).toThrow('This workspace has reached its limit of 4');
});
