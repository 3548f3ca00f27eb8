import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId } from '../fixtures/requests.ts';

/** Tests of responses that are sent before the request body was read. */

let hub: TestHub;
let workspace: TestWorkspace;
let upload: (commandId: string, bytes: number) => string;
let takeCommand: () => Promise<string>;
beforeAll(async () => {
  // Enough time for a client on a busy machine to send the rest of a body.
  hub = await startHub({}, undefined, { lingerLimits: { lingerMs: 60_000, lingerBytes: 16 * 1024 * 1024 } });
  workspace = await hub.workspace();
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
    },
  });
  upload = (commandId, bytes) => {
    const facts = new URLSearchParams({
      offset: '0',
      bytes: String(bytes),
      sha256: 'a'.repeat(64),
      contentType: 'image/png',
    });
    return `PUT /v1/automations/nodes/${nodeId}/commands/${commandId}/artifacts/a.png?${facts.toString()} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${deviceSecret}\r\n`;
  };
  takeCommand = async () => {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'x',
        stepsJson: [{ type: 'skill', skillId: 'node.files_read', input: { nodeId, path: 'shared/x' } }],
      },
    });
    await workspace.api.call('runAutomationWorkflow', { params: { id } });
    return (
      await hub
        .client(deviceSecret)
        .call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 30, max: 1 } })
    ).commands[0]?.id as string;
  };
});
afterAll(() => hub[Symbol.asyncDispose]());

interface Call {
  socket: Socket;
  heard: () => string;
  /** How the connection ended; null while it is open. */
  ended: () => string | null;
}

function open(head: string, { url } = hub): Call {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  let text = '';
  let ended: string | null = null;
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.on('end', () => (ended ??= 'as it should'));
  socket.on('error', (error: NodeJS.ErrnoException) => (ended ??= error.code ?? 'error'));
  socket.write(head);
  return { socket, heard: () => text, ended: () => ended };
}

const chunked = (bytes: number) => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`;

test('a rejected upload is answered before its body is sent, and its connection is closed', async () => {
  const { socket, heard, ended } = open(`${upload(missingId, 8_000_000)}Content-Length: 8000000\r\n\r\n`);
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 404 [^]*\r\nConnection: close\r\n[^]*"code":"not_found"[^]*}$/i);
  expect(ended()).toBe(null);
  socket.write(Buffer.alloc(8_000_000));
  await expect.poll(ended).toBe('as it should');
  socket.destroy();
});

test('a body that turns out to be too large is answered, not cut off', async () => {
  const { socket, heard, ended } = open(
    `POST /v1/automations/workflows HTTP/1.1\r\nHost: hub\r\nX-API-Key: ${workspace.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  for (let sent = 0; sent < 20; sent += 1) socket.write(chunked(100_000));
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 413 [^]*"code":"payload_too_large"/);
  socket.write('0\r\n\r\n');
  await expect.poll(ended).toBe('as it should');
  socket.destroy();
});

test('a client that continues to send after the response loses its connection', async () => {
  await using impatient = await startHub({}, hub.database);
  const { socket, heard, ended } = open(`${upload(missingId, 8_000_000)}Transfer-Encoding: chunked\r\n\r\n`, impatient);
  const timer = setInterval(() => socket.write(chunked(1_000)), 5);
  try {
    await expect.poll(heard).toContain('"code":"not_found"');
    await expect.poll(ended).not.toBe(null);
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
});

test('a small, partly read body leaves the connection usable for the next request', async () => {
  const { socket, heard } = open(`${upload(await takeCommand(), 10)}Content-Length: 40\r\n\r\n${'x'.repeat(20)}`);
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 413 /);
  socket.write(`${'x'.repeat(20)}GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n`);
  await expect.poll(heard).toMatch(/"code":"payload_too_large"[^]*HTTP\/1\.1 200 /);
  socket.destroy();
});

test('a small, unread body leaves the connection usable for the next request', async () => {
  const { socket, heard } = open(
    `POST /v1/automations/workflows HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n`,
  );
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 401 [^]*HTTP\/1\.1 200 /);
  socket.destroy();
});
