import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { AppError } from '../../../../shared/errors.ts';
import { DatabaseOutage } from '../../../platform/db/errors.ts';
import { SoftphoneSocketGateway } from './softphone-socket-gateway.ts';

/** The part of a WebSocket that a softphone session uses. */
class Socket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  closedWith: [number, string] | null = null;

  pause() {}
  resume() {}
  send() {}

  terminate() {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.emit('close');
  }

  close(code: number, reason: string) {
    this.closedWith ??= [code, reason];
    queueMicrotask(() => this.terminate());
  }
}

const outage = () => Promise.reject(new DatabaseOutage('The database is out of reach.', new Error('ECONNREFUSED')));

/** Connects a softphone whose user has a call in progress. */
function connect(more: {
  isOn?: () => Promise<boolean>;
  authenticate?: () => Promise<void>;
  resume?: () => Promise<void>;
}) {
  const [socket, leaseEvents, ended]: [Socket, string[], unknown[]] = [new Socket(), [], []];
  const call = {
    answered() {},
    ended: () => leaseEvents.push('ended'),
    detached: () => leaseEvents.push('detached'),
  };
  const dialog = { callId: 'call', fromTag: 'a', toTag: 'b' };
  const nothing = { [Symbol.dispose]() {} };
  const gateway = new SoftphoneSocketGateway({
    db: {},
    events: { subscribe: () => nothing, onReconnect: () => nothing },
    logger: pino({ level: 'silent' }),
    rateLimiter: { take: () => Promise.resolve({ allowed: true }) },
    hosted: { isOn: more.isOn ?? (() => Promise.resolve(true)) },
    server: {
      domain: 'sip.example.com',
      connect: () => Promise.resolve(new Socket()),
      sidesOf: () => Promise.resolve({ targets: ['sip:x@y.invalid'], routes: [] }),
      knows: () => Promise.resolve(true),
      end: (given: unknown) => Promise.resolve(ended.push(given) > 0),
    },
    rules: { emergency: 'refuse', allow: [] },
    now: Date.now,
    calls: {
      async resume() {
        await more.resume?.();
        return [{ dialog, call }];
      },
    },
  } as never);
  gateway.open({
    socket,
    principal: { kind: 'session', tenantId: 't', user: { id: 'u' }, sessionId: 's' },
    requestId: 'r',
    stopping: new AbortController().signal,
    onRevoked() {},
    authenticate: more.authenticate ?? (() => Promise.resolve()),
  } as never);
  return { socket, leaseEvents, ended };
}

test('a softphone whose session cannot be checked during an outage is asked to reconnect, and its call continues', async () => {
  const { socket, leaseEvents, ended } = connect({ authenticate: outage });
  await expect.poll(() => socket.closedWith).toEqual([1013, 'the hub cannot check the session']);
  expect([leaseEvents, ended]).toEqual([['detached'], []]);
});

test('a softphone whose user may no longer call is closed, and its call is ended', async () => {
  const { socket, ended } = connect({
    authenticate: () => Promise.reject(new AppError('unauthenticated', 'Sign in.')),
  });
  await expect.poll(() => socket.closedWith).toEqual([4401, 'unauthenticated']);
  expect(ended).toHaveLength(1);
});

test('a softphone that connects during a database outage is not told that the SIP server is unreachable', async () => {
  const { socket } = connect({ isOn: outage });
  await expect.poll(() => socket.closedWith).toEqual([1013, 'the hub cannot check the session']);
});

test('a softphone that disconnects while it resumes its call detaches the call', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { socket, leaseEvents } = connect({ resume: () => promise });
  await expect.poll(() => socket.listenerCount('close')).toBeGreaterThan(0);
  socket.terminate();
  resolve();
  await expect.poll(() => leaseEvents).toEqual(['detached']);
});
