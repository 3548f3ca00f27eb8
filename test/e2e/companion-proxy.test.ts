import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { makeCertificate } from '../fixtures/certificates.ts';
import { runCompanionCli, startCompanion } from '../fixtures/companion.ts';
import { startConnectProxy, startTlsFront } from '../fixtures/connect-proxy.ts';
import { freePort } from '../fixtures/free-port.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';

// This name cannot be resolved, so only a tunnel of the proxy reaches the hub.
const hubUrl = 'https://hub.test';
const certificate = makeCertificate('hub.test');
let hub: TestHub;
let workspace: TestWorkspace;
let front: Awaited<ReturnType<typeof startTlsFront>>;
let folder: string;
let trust: Record<string, string>;

beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
  front = await startTlsFront(certificate, Number(new URL(hub.url).port));
  folder = mkdtempSync(join(tmpdir(), 'outrigger-proxy-'));
  writeFileSync(join(folder, 'ca.pem'), certificate.cert);
  trust = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
});
afterAll(async () => {
  await front[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const pair = async (env: Record<string, string>) => {
  const { pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const home = mkdtempSync(join(folder, 'home-'));
  return runCompanionCli(['pair', pairingCode, '--hub', hubUrl], { OUTRIGGER_COMPANION_HOME: home, ...trust, ...env });
};

test.each([
  ['without credentials', null, {}],
  ['with credentials', { user: 'me', password: 'p@ss:word' }, {}],
  ['while NODE_USE_ENV_PROXY is set', { user: 'me', password: 'secret' }, { NODE_USE_ENV_PROXY: '1' }],
])('pairing, the channel, results and uploads go through a proxy %s', async (_name, credentials, env) => {
  await using proxy = await startConnectProxy({ 'hub.test:443': front.port }, credentials);
  const user =
    credentials === null ? '' : `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.password)}@`;
  await using companion = await startCompanion(hub, workspace, {
    hubUrl,
    env: { ...trust, ...env, HTTPS_PROXY: `http://${user}${proxy.host}` },
  });
  writeFileSync(join(companion.shared, 'large.bin'), Buffer.alloc(3_000_000, 7));
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'proxy',
      stepsJson: [
        { type: 'skill', skillId: 'node.ping', input: { nodeId: companion.nodeId } },
        {
          type: 'skill',
          skillId: 'node.files_read',
          input: { nodeId: companion.nodeId, path: join(companion.shared, 'large.bin') },
        },
      ],
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  expect(await settledRun(workspace.api, runId)).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [{}, { output: { encoding: 'artifact', bytes: 3_000_000 } }],
  });
  await expect.poll(async () => (await companion.cli('status')).stdout).toMatch(/channel/);
  expect(new Set(proxy.opened)).toEqual(new Set(['hub.test:443']));
  expect(companion.log()).not.toContain('disconnected');
});

test('a proxy error names the proxy and its variable, but not the password', async () => {
  await using proxy = await startConnectProxy({}, { user: 'me', password: 'right' });
  const wrong = await pair({ https_proxy: `http://me:wr0ng@${proxy.host}` });
  expect(wrong).toMatchObject({ code: 1 });
  expect(wrong.stderr).toContain(
    `the proxy http://${proxy.host} (https_proxy) does not accept the user name and the password in https_proxy (HTTP 407)`,
  );
  expect(wrong.stderr).not.toContain('wr0ng');
  expect((await pair({ HTTPS_PROXY: `http://${proxy.host}` })).stderr).toContain('requires a user name and a password');
  expect((await pair({ HTTPS_PROXY: `http://me:right@${proxy.host}` })).stderr).toContain(
    'opens no connection to hub.test:443 (HTTP 403)',
  );
  const closed = `127.0.0.1:${await freePort()}`;
  expect((await pair({ HTTPS_PROXY: closed })).stderr).toContain(
    `the proxy http://${closed} (HTTPS_PROXY) can't be reached: ECONNREFUSED`,
  );
  expect((await pair({ HTTPS_PROXY: 'socks5://proxy.test' })).stderr).toContain('HTTPS_PROXY must begin with http://');
});

test('a hub on this machine is reached without the proxy of the environment', async () => {
  const closed = `http://127.0.0.1:${await freePort()}`;
  await using companion = await startCompanion(hub, workspace, {
    env: { HTTP_PROXY: closed, HTTPS_PROXY: closed, NODE_USE_ENV_PROXY: '1' },
  });
  expect((await companion.cli('status')).stdout).toContain('connected');
});
