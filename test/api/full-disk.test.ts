import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

/** Mounts a file system of a few MiB. Returns null if this user may not mount one. */
function mountSmall(): string | null {
  const path = mkdtempSync(join(tmpdir(), 'outrigger-small-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', path], { stdio: 'ignore' });
    return path;
  } catch {
    rmSync(path, { recursive: true });
    return null;
  }
}

const disk = mountSmall();
const mib = 1024 * 1024;
const roomBytes = 256 * 1024;

describe.skipIf(disk === null)('a full disk for artifacts (needs the right to mount a tmpfs)', () => {
  const folder = disk as string;
  let hub: TestHub;
  let workspace: TestWorkspace;
  let nodeId: string;
  let deviceSecret: string;
  beforeAll(async () => {
    hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', ARTIFACTS_FOLDER: folder });
    workspace = await hub.workspace();
    const created = await workspace.api.call('createAutomationNode', { body: {} });
    nodeId = created.nodeId;
    ({ deviceSecret } = await hub.client().call('claimAutomationNode', {
      body: {
        pairingCode: created.pairingCode,
        device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
      },
    }));
  });
  afterAll(async () => {
    await hub[Symbol.asyncDispose]();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });
  const filler = join(folder, 'filler');
  beforeEach(() => {
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(filler, Buffer.alloc(bavail * bsize - roomBytes));
  });
  afterEach(() => rmSync(filler, { force: true }));

  const whole = randomBytes(2 * mib);
  const sha256 = createHash('sha256').update(whole).digest('hex');
  const output = { encoding: 'artifact', artifact: 'file.bin', bytes: whole.length, sha256, eof: true };
  const headers = () => ({ authorization: `Bearer ${deviceSecret}` });
  const full = { status: 503, body: { code: 'unavailable', message: expect.stringContaining('is full') as string } };
  async function take(): Promise<{ runId: string; commandId: string; path: string }> {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'x',
        stepsJson: [{ type: 'skill', skillId: 'node.files_read', input: { nodeId, path: 'shared/big' } }],
      },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    const { commands } = await hub
      .client(deviceSecret)
      .call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 30, max: 1 } });
    const commandId = commands[0]?.id as string;
    return { runId, commandId, path: `/v1/automations/nodes/${nodeId}/commands/${commandId}` };
  }
  const put = (path: string, offset: number) =>
    send(
      hub.url,
      'PUT',
      `${path}/artifacts/file.bin?${new URLSearchParams({ offset: String(offset), bytes: String(whole.length), sha256, contentType: 'image/png' }).toString()}`,
      { headers: headers(), raw: whole.subarray(offset) },
    );
  const complete = (path: string, body: unknown) =>
    send(hub.url, 'POST', `${path}/result`, { headers: headers(), body });
  const multipart = (path: string) => {
    const head = `--b\r\nContent-Disposition: form-data; name="result"\r\n\r\n${JSON.stringify({ status: 'succeeded', output })}\r\n--b\r\nContent-Disposition: form-data; name="a"; filename="file.bin"\r\nContent-Type: image/png\r\n\r\n`;
    return send(hub.url, 'POST', `${path}/result`, {
      headers: { ...headers(), 'content-type': 'multipart/form-data; boundary=b' },
      raw: Buffer.concat([Buffer.from(head), whole, Buffer.from('\r\n--b--\r\n')]),
    });
  };
  const statusOf = async (runId: string) => (await settledRun(workspace.api, runId)).status;

  test('allows a client to send a part again after an insufficient storage error', async () => {
    const { runId, path } = await take();
    const answer = await put(path, 0);
    expect(answer).toMatchObject(full);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    rmSync(filler);
    const { received } = (await send(hub.url, 'GET', `${path}/artifacts/file.bin`, { headers: headers() })).body as {
      received: number;
    };
    expect(received).toBeGreaterThan(0);
    expect((await put(path, received)).body).toMatchObject({ complete: true });
    expect((await complete(path, { status: 'succeeded', output, uploads: ['file.bin'] })).body).toMatchObject({
      recorded: true,
    });
    expect(await statusOf(runId)).toBe('succeeded');
  });

  test('allows a client to send a multipart result again, and stores nothing of the first attempt', async () => {
    const { runId, path } = await take();
    const answer = await multipart(path);
    expect(answer).toMatchObject(full);
    expect(answer.headers.get('retry-after')).not.toBe(null);
    expect(await readdir(join(folder, '.uploads'))).toEqual([]);
    rmSync(filler);
    expect((await multipart(path)).body).toMatchObject({ recorded: true });
    expect(await statusOf(runId)).toBe('succeeded');
  });

  test('allows a client to send a result with an inline artifact again, and stores nothing of the first attempt', async () => {
    const { runId, path } = await take();
    const result = {
      status: 'succeeded',
      output,
      artifacts: [{ name: 'file.bin', contentType: 'image/png', base64: whole.toString('base64') }],
    };
    expect(await complete(path, result)).toMatchObject(full);
    expect(await readdir(join(folder, '.unfinished'))).toEqual([]);
    rmSync(filler);
    expect((await complete(path, result)).body).toMatchObject({ recorded: true });
    expect(await statusOf(runId)).toBe('succeeded');
  });

  test('is reported by /readyz while it lasts, and runs without artifacts continue', async () => {
    writeFileSync(join(folder, 'rest'), Buffer.alloc(roomBytes));
    const ready = async () => {
      const { status, body } = await send(hub.url, 'GET', '/readyz');
      return {
        status,
        state: body['status'],
        artifacts: (body['parts'] as Record<string, { ok: boolean }>)['artifacts']?.ok,
      };
    };
    try {
      await expect.poll(ready).toEqual({ status: 200, state: 'degraded', artifacts: false });
      const { runId, path } = await take();
      expect(
        (
          await complete(path, {
            status: 'succeeded',
            output: {
              encoding: 'utf8',
              content: '',
              path: '/x',
              bytes: 0,
              sha256: createHash('sha256').digest('hex'),
              eof: true,
            },
          })
        ).body,
      ).toMatchObject({ recorded: true });
      expect(['succeeded', 'failed']).toContain(await statusOf(runId));
    } finally {
      rmSync(join(folder, 'rest'));
    }
    rmSync(filler);
    await expect.poll(ready).toEqual({ status: 200, state: 'ready', artifacts: true });
  });
});
