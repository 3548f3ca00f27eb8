import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';

const requests = 40;

/** Resident memory of a process, in MiB. */
const residentMib = (pid: number | undefined) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

test('requests whose bodies exceed the memory of the hub are queued or refused, and do not crash the hub', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-bodies-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    NODE_OPTIONS: '--max-old-space-size=400',
  };
  const hub = await startHubProcess(env);
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  const api = createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'large', stepsJson: [{ type: 'log', message: 'hi' }] },
  });
  // Empty objects use the most heap for their length.
  const objects = `[${Array.from({ length: 340_000 }).fill('{}').join(',')}]`;
  const post = async (path: string, body: string) => {
    const response = await fetch(new URL(path, hub.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  };
  const many = (path: string, body: string) => Promise.all(Array.from({ length: requests }, () => post(path, body)));
  const started = await many(`/v1/automations/workflows/${id}/run`, `{"payload":{"a":${objects}}}`);
  expect(new Set(started.filter((status) => ![200, 201, 202, 429].includes(status)))).toEqual(new Set());
  expect(started.filter((status) => status < 300).length).toBeGreaterThan(0);
  const signedIn = await many('/auth/login', `{"email":${objects}}`);
  expect(new Set(signedIn.filter((status) => ![400, 413, 422, 429].includes(status)))).toEqual(new Set());
  expect(hub.child.exitCode).toBeNull();
  expect(await post(`/v1/automations/workflows/${id}/run`, '{}')).toBeLessThan(300);
});

test.skipIf(process.platform !== 'linux')(
  'stalled request bodies use a bounded amount of memory, and other bodies are still received (needs /proc)',
  async () => {
    await using database = await acquireDatabase();
    const home = await mkdtemp(join(tmpdir(), 'outrigger-slow-bodies-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const env = {
      OUTRIGGER_HOME: home,
      PORT: '0',
      DATABASE_URL: database.url,
      SECRET_KEY: 'ab'.repeat(32),
    };
    const hub = await startHubProcess(env);
    await cli(env, 'workspace', 'create', '--name', 'other');
    const keyOf = (workspace: string) =>
      cli(env, 'token', 'create', '--product', 'automations', '--workspace', workspace);
    const [key, otherKey] = [await keyOf('demo'), await keyOf('other')];
    const api = createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
    const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: {} });
    const { deviceSecret } = await createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch }).call(
      'claimAutomationNode',
      {
        body: {
          pairingCode,
          device: { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1', capabilities: [] },
        },
      },
    );
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'ping', stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId } }] },
    });
    await api.call('runAutomationWorkflow', { params: { id }, body: {} });
    const { commands } = await createClient({
      baseUrl: hub.url,
      fetch: fetch as unknown as Fetch,
      token: deviceSecret,
    }).call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 20 } });
    const result = `/v1/automations/nodes/${nodeId}/commands/${commands[0]?.id}/result`;
    const sockets: Socket[] = [];
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    let refused = 0;
    const length = 11 * 1024 * 1024;
    /** Sends the beginning of a body and stops. */
    const stall = async (contentType: string, body: Buffer) => {
      const socket = connect(Number(new URL(hub.url).port), '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.on('data', (data) => (refused += /^HTTP\/1.1 429/.test(String(data)) ? 1 : 0));
      socket.write(
        `POST ${result} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${deviceSecret}\r\nContent-Type: ${contentType}\r\nContent-Length: ${length + 1024}\r\n\r\n`,
      );
      socket.write(body);
      await delay(20);
    };
    const field = Buffer.alloc(length, 'x');
    Buffer.from('--X\r\nContent-Disposition: form-data; name="result"\r\n\r\n').copy(field);
    const before = residentMib(hub.child.pid);
    for (let n = 0; n < 40; n += 1) {
      await stall('application/json', Buffer.alloc(length, ' '));
      await stall('multipart/form-data; boundary=X', field);
    }
    await expect.poll(() => refused).toBeGreaterThan(60);
    // 80 bodies of 11 MiB would use 880 MiB.
    expect(residentMib(hub.child.pid) - before).toBeLessThan(450);
    const payload = JSON.stringify({ name: 'x', stepsJson: [{ type: 'log', message: 'x'.repeat(500_000) }] });
    const other = await fetch(new URL('/v1/automations/workflows', hub.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${otherKey}` },
      body: payload,
    });
    expect(other.status, await other.text()).not.toBe(429);
  },
);
