import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';

const requests = 40;

test(
  'requests whose bodies need more memory than the hub has are answered in turn or refused, and do not end the hub',
  { timeout: 240_000 },
  async () => {
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
    // Empty objects need the most heap for their length.
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
  },
);
