import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { AppError } from '../../../../shared/errors.ts';
import { DatabaseOutage } from '../../../platform/db/errors.ts';
import { SoftphoneSocketGateway } from './softphone-socket-gateway.ts';

/** What a line uses of a WebSocket. */
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

/** A softphone that connects while its person has a call. */
function connect(more: {
  isOn?: () => Promise<boolean>;
  authenticate?: () => Promise<void>;
  takeUp?: () => Promise<void>;
}) {
  const [socket, told, ended]: [Socket, string[], unknown[]] = [new Socket(), [], []];
  const call = { answered() {}, ended: () => told.push('ended'), left: () => told.push('left') };
  const dialog = { callId: 'call', fromTag: 'a', toTag: 'b' };
  const nothing = { [Symbol.dispose]() {} };
  const doors = new SoftphoneSocketGateway({
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
      async takeUp() {
        await more.takeUp?.();
        return [{ dialog, call }];
      },
    },
  } as never);
  doors.open({
    socket,
    principal: { kind: 'session', tenantId: 't', user: { id: 'u' }, sessionId: 's' },
    requestId: 'r',
    stopping: new AbortController().signal,
    onRevoked() {},
    authenticate: more.authenticate ?? (() => Promise.resolve()),
  } as never);
  return { socket, told, ended };
}

test('a softphone of whom nobody could look whether it may stay is asked to come back, and its call goes on', async () => {
  const { socket, told, ended } = connect({ authenticate: outage });
  await expect.poll(() => socket.closedWith).toEqual([1013, 'the hub can not look who may call']);
  expect([told, ended]).toEqual([['left'], []]);
});

test('a softphone whose person may not call any more is closed, its call ended', async () => {
  const { socket, ended } = connect({
    authenticate: () => Promise.reject(new AppError('unauthenticated', 'Sign in.')),
  });
  await expect.poll(() => socket.closedWith).toEqual([4401, 'unauthenticated']);
  expect(ended).toHaveLength(1);
});

test('a softphone that comes while the database is away is not told that the SIP server is', async () => {
  const { socket } = connect({ isOn: outage });
  await expect.poll(() => socket.closedWith).toEqual([1013, 'the hub can not look who may call']);
});

test('a softphone that goes while it takes up its call leaves it to be asked for', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { socket, told } = connect({ takeUp: () => promise });
  await expect.poll(() => socket.listenerCount('close')).toBeGreaterThan(0);
  socket.terminate();
  resolve();
  await expect.poll(() => told).toEqual(['left']);
});
