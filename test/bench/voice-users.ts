import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { createClient } from '../fixtures/contract-client.ts';
import type { BenchHub } from './hub.ts';

/** A user with a softphone. */
export interface PhoneUser {
  email: string;
  jwt: string;
  /** User name at the SIP server. */
  user: string;
}

/** Settings of a hub that allow many sign-ins in a short time. */
export const manySignInsSettings = { SIGN_UP: 'open', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000' };

/** Creates users of one workspace that opted into hosted SIP. */
export async function createPhoneUsers({ url }: Pick<BenchHub, 'url'>, count: number): Promise<PhoneUser[]> {
  const client = (token?: string) =>
    createClient({ baseUrl: url, fetch: fetch as never, ...(token === undefined ? {} : { token }) } as never);
  const password = 'correct horse battery';
  const first = `person-0-${Date.now()}@bench.example`;
  const { token, tenantId } = await client().call('signUp', {
    body: { email: first, password, workspaceName: 'Bench' },
  });
  const session = client(token);
  const { username } = await session.call('optIntoHostedSip', {});
  const users: PhoneUser[] = [{ email: first, jwt: token, user: username as string }];
  while (users.length < count) {
    const some = Math.min(8, count - users.length);
    users.push(
      ...(await Promise.all(
        Array.from({ length: some }, async (_, index) => {
          const email = `person-${users.length + index}-${Date.now()}@bench.example`;
          await session.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
          const { token: jwt } = await client().call('logIn', { body: { email, password } });
          const { username: user } = await client(jwt).call('getHostedSip', {});
          return { email, jwt, user: user as string };
        }),
      )),
    );
  }
  return users;
}

/** A softphone that only registers. */
export class RegisteringPhone {
  readonly socket: WebSocket;
  readonly #register: string;
  #answered: () => void = () => undefined;
  #sequence = 0;

  private constructor(socket: WebSocket, register: string) {
    this.socket = socket;
    this.#register = register;
    socket.on('message', (frame: Buffer) => {
      if (!frame.toString('latin1', 0, 11).startsWith('SIP/2.0 200')) throw new Error(frame.toString());
      this.#answered();
    });
  }

  /** @param headers credentials of the user for the server. */
  static async open(
    url: string,
    headers: Record<string, string>,
    user: string,
    domain: string,
  ): Promise<RegisteringPhone> {
    const socket = new WebSocket(url, 'sip', { headers, perMessageDeflate: false });
    await once(socket, 'open');
    const name = `${user}-${Math.random().toString(36).slice(2)}`;
    const own = `<sip:${user}@${domain}>`;
    return new RegisteringPhone(
      socket,
      `REGISTER sip:${domain} SIP/2.0\r\nVia: SIP/2.0/WS ${name}.invalid;branch=z9hG4bKSEQUENCE\r\nMax-Forwards: 70\r\nFrom: ${own};tag=bench\r\nTo: ${own}\r\nCall-ID: ${name}\r\nCSeq: SEQUENCE REGISTER\r\nContact: <sip:${name.slice(-8)}@${name.slice(-8)}.invalid;transport=ws>;expires=600\r\nContent-Length: 0\r\n\r\n`,
    );
  }

  /** Returns the duration of a registration in milliseconds. */
  async register(): Promise<number> {
    this.#sequence += 1;
    const answered = new Promise<void>((done, fail) => {
      const timer = setTimeout(() => fail(new Error('a registration got no response within 5 s')), 5_000);
      this.#answered = () => {
        clearTimeout(timer);
        done();
      };
    });
    const startedAt = performance.now();
    this.socket.send(this.#register.replaceAll('SEQUENCE', String(this.#sequence)));
    await answered;
    return performance.now() - startedAt;
  }
}

export interface BareRelay extends AsyncDisposable {
  url: string;
  /** Resident memory in bytes after a garbage collection. */
  residentBytes(): Promise<number>;
}

/** @param env settings of the SIP server. */
export async function startBareRelay(env: Record<string, string>): Promise<BareRelay> {
  const args = [env['SIP_WS_URL'] as string, env['SIP_SHARED_SECRET'] as string];
  const flags = ['--expose-gc', '--max-semi-space-size=8'];
  const child = spawn(process.execPath, [...flags, resolve('test/bench/softphone-relay.ts'), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [port] = (await once(child, 'message')) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    async residentBytes() {
      child.send('collect');
      await once(child, 'message');
      await delay(500);
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}
