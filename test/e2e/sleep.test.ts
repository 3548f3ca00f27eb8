import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';

/** Tests of a laptop that sleeps and whose clock changes. */

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ NODE_HEARTBEAT_SECONDS: '1', NODE_POLL_SECONDS: '3', RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function ping(nodeId: string): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'ping', stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 60_000 } }] },
  });
  return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId;
}
const settled = (id: string) => settledRun(workspace.api, id);
const statusOf = async (nodeId: string) =>
  (await workspace.api.call('listAutomationNodes', {})).data.find(({ id }) => id === nodeId)?.status;

test('a sleeping machine is offline, and runs the waiting commands once it wakes', async () => {
  await using companion = await startCompanion(hub, workspace);
  expect((await settled(await ping(companion.nodeId))).status).toBe('succeeded');
  companion.process()?.kill('SIGSTOP');
  await expect.poll(() => statusOf(companion.nodeId)).toBe('offline');
  const waiting = await ping(companion.nodeId);
  companion.process()?.kill('SIGCONT');
  expect((await settled(waiting)).status).toBe('succeeded');
  await expect.poll(() => statusOf(companion.nodeId)).toBe('online');
});

test('a clock that jumps a year ahead and two years back disturbs neither the connection nor a command', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-clock-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const script = join(folder, 'jump.mjs');
  await writeFile(
    script,
    `const RealDate = Date;
let offset = 0;
globalThis.Date = class extends RealDate {
  constructor(...given) { if (given.length === 0) super(RealDate.now() + offset); else super(...given); }
  static now() { return RealDate.now() + offset; }
};
setTimeout(() => { offset = 366 * 86_400_000; }, 2_000).unref();
setTimeout(() => { offset = -366 * 86_400_000; }, 5_000).unref();
`,
  );
  await using companion = await startCompanion(hub, workspace, {
    env: { NODE_OPTIONS: `--import ${pathToFileURL(script).href}` },
  });
  const began = performance.now();
  let pings = 0;
  while (performance.now() - began < 9_000 || pings < 6) {
    expect((await settled(await ping(companion.nodeId))).status).toBe('succeeded');
    pings += 1;
  }
  // A node is offline after 3 seconds without a heartbeat, which a busy machine can take.
  await expect.poll(() => statusOf(companion.nodeId)).toBe('online');
});
