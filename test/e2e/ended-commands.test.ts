import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { processesWith, startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';

/** Tests of commands that ended after they started. */

let hub: TestHub;
let workspace: TestWorkspace;
let companion: TestCompanion;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
  companion = await startCompanion(hub, workspace, { allow: ['system', 'browser'] });
});
afterAll(async () => {
  await companion[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

const settled = (id: string): Promise<Run> => settledRun(workspace.api, id);

async function approve(runId: string) {
  expect((await settled(runId)).status).toBe('waiting_approval');
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
  const [approval] = data;
  await workspace.session.call('decideAutomationApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  return approval;
}

/** Starts a workflow with one program and approves it. */
async function begin(argv: string[], options: Record<string, unknown> = {}) {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'ended',
      stepsJson: [{ type: 'skill', skillId: 'system.run', input: { nodeId: companion.nodeId, argv }, ...options }],
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  return { runId, approval: await approve(runId) };
}

const effect = (name: string) => join(companion.shared, name);
/** A program that has an effect and keeps running. */
const programWithEffect = (name: string) => ['sh', '-c', `echo begun >> "$1"; sleep 30`, 'sh', effect(name)];
async function underWay(name: string): Promise<void> {
  await expect.poll(() => readFileSync(effect(name), 'utf8')).toBe('begun\n');
}

async function lastEntry(): Promise<Record<string, unknown>> {
  const { stdout } = await companion.cli('audit', '--json');
  const entries = JSON.parse(stdout) as Record<string, unknown>[];
  return entries.findLast(({ type }) => type === 'system.run') ?? {};
}

const retry = { maxAttempts: 3, backoffSeconds: 0, factor: 1 };
const endedAfter = expect.stringMatching(
  /\. system\.run had begun and was ended after \d+\.\d s; look at the machine before you retry\.$/,
) as string;

describe('a program that the owner ended', () => {
  test('is reported as interrupted and is not retried', async () => {
    for (const [name, end, revert, reason] of [
      ['paused', ['pause'], ['resume'], 'owner_paused'],
      ['denied', ['deny', 'system'], ['allow', 'system', '--no-ask', '--yes'], 'owner_denied'],
    ] as const) {
      const { runId } = await begin(programWithEffect(name), { retry });
      await underWay(name);
      expect(await companion.cli(...end)).toMatchObject({ code: 0 });
      expect(await settled(runId)).toMatchObject({
        status: 'failed',
        error: { code: 'interrupted', message: endedAfter },
        stepsResultJson: [{ status: 'failed', attempts: 1 }],
      });
      expect(await lastEntry()).toMatchObject({ outcome: 'interrupted', message: endedAfter, reason, began: true });
      expect(await companion.cli(...revert)).toMatchObject({ code: 0 });
      expect(readFileSync(effect(name), 'utf8')).toBe('begun\n');
    }
  });

  test('names the earlier try in the approval of a retry', async () => {
    const { runId, approval } = await begin(programWithEffect('retried'));
    expect(approval?.message).not.toContain('earlier');
    await underWay('retried');
    await companion.cli('pause');
    expect((await settled(runId)).error?.code).toBe('interrupted');
    await companion.cli('resume');
    const { id } = await workspace.api.call('retryAutomationRun', { params: { id: runId } });
    expect((await settled(id)).status).toBe('waiting_approval');
    const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId: id } });
    expect(data[0]?.message).toMatch(
      /An earlier try of this step sent system\.run to its node at \S+Z and ended with interrupted\./,
    );
    expect(data[0]?.hubMessage).toMatchObject({
      reason: 'program',
      earlierTry: { commandType: 'system.run', code: 'interrupted' },
    });
    expect(data[0]?.message).toContain(data[0]?.hubMessage?.earlierTry?.sentAt);
  });
});

describe('a command of the browser', () => {
  const requested: string[] = [];
  let download: ServerResponse | undefined;
  const server = createServer(({ url = '' }, response) => {
    requested.push(url);
    if (url === '/beat') response.end();
    if (url === '/posting')
      response
        .setHeader('Content-Type', 'text/html')
        .end('<script>setInterval(() => fetch("/beat", { method: "POST" }), 50)</script>');
    if (url === '/page') response.setHeader('Content-Type', 'text/html').end('<a href="/file" download>Get</a>');
    if (url !== '/file') return;
    response.writeHead(200, { 'Content-Disposition': 'attachment; filename="report.csv"', 'Content-Type': 'text/csv' });
    response.write('1'.repeat(10_000));
    download = response;
  });
  beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = () => `http://localhost:${(server.address() as AddressInfo).port}`;
  const start = async (steps: { skillId: string; input?: Record<string, unknown>; [option: string]: unknown }[]) => {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'browser',
        stepsJson: steps.map(({ skillId, input = {}, ...options }) => ({
          type: 'skill' as const,
          skillId,
          input: { nodeId: companion.nodeId, ...input } as never,
          ...options,
        })),
      },
    });
    return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId;
  };

  test('does not request a page again after the owner ended the command', async () => {
    const runId = await start([{ skillId: 'browser.navigate', input: { url: `${base()}/effect` }, retry }]);
    await expect.poll(() => requested).toContain('/effect');
    await companion.cli('pause');
    await companion.cli('resume');
    expect(await settled(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'interrupted' },
      stepsResultJson: [{ attempts: 1 }],
    });
    expect(requested.filter((url) => url === '/effect')).toHaveLength(1);
  });

  test('a pause closes the pages of a run at once, also busy ones', async () => {
    const busy = 'void setTimeout(() => { for (;;); })';
    const runId = await start([
      { skillId: 'browser.navigate', input: { url: `${base()}/posting` } },
      { skillId: 'browser.navigate', input: { url: `${base()}/page`, newPage: true } },
      { skillId: 'browser.evaluate', input: { expression: busy } },
      { skillId: 'system.run', input: { argv: ['true'] } },
      { skillId: 'browser.content' },
    ]);
    expect((await settled(runId)).status).toBe('waiting_approval');
    const beats = () => requested.filter((url) => url === '/beat').length;
    const before = beats();
    await expect.poll(beats).toBeGreaterThan(before);
    expect(await companion.cli('pause')).toMatchObject({ code: 0 });
    const paused = beats();
    await expect.poll(() => processesWith(join(companion.home, 'browser-profile'))).toEqual([]);
    // Requests in transit may arrive after the command returned. A browser sends at most 6 to a host at the same time.
    expect(beats()).toBeLessThanOrEqual(paused + 6);
    await companion.cli('resume');
    await approve(runId);
    expect(await settled(runId)).toMatchObject({
      status: 'failed',
      error: {
        code: 'page_closed',
        message: expect.stringContaining('The owner of this machine paused the companion.') as string,
      },
    });
  });

  test('leaves a download that takes longer than the timeoutSeconds of its step to a later step', async () => {
    const runId = await start([
      { skillId: 'browser.navigate', input: { url: `${base()}/page` } },
      { skillId: 'browser.click', input: { target: { text: 'Get' } }, timeoutSeconds: 15 },
      { skillId: 'browser.wait_for', input: { download: true } },
    ]);
    const read = async () => (await workspace.api.call('getAutomationRun', { params: { id: runId } })).stepsResultJson;
    await expect.poll(async () => (await read())[1]?.status).toBe('succeeded');
    download?.end('2');
    expect(await settled(runId)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{}, {}, { output: { downloads: [{ name: 'report.csv', state: 'saved' }] } }],
    });
  });
});

test('a program that ended with its companion is reported as interrupted', async () => {
  const { runId } = await begin(programWithEffect('stopped'), { retry });
  await underWay('stopped');
  await companion.stop();
  expect(await settled(runId)).toMatchObject({
    status: 'failed',
    error: { code: 'interrupted', message: endedAfter },
    stepsResultJson: [{ attempts: 1 }],
  });
  expect(await lastEntry()).toMatchObject({ outcome: 'interrupted', reason: 'companion_stopped', began: true });
  await companion.start();
});

test('the log entry of a program whose companion was killed contains the fields of its first entry', async () => {
  const { runId } = await begin(programWithEffect('killed'));
  await underWay('killed');
  await companion.stop('SIGKILL');
  await companion.start();
  expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
  const entry = await lastEntry();
  expect(entry).toMatchObject({
    outcome: 'outcome_unknown',
    summary: expect.stringContaining(effect('killed')) as string,
    approvedBy: workspace.email,
    origin: { run: { id: runId }, workflow: { name: 'ended' } },
    began: true,
  });
  expect(entry['durationMs']).toBeGreaterThan(0);
  const { stdout } = await companion.cli('audit');
  expect(stdout).toContain(effect('killed'));
});

test('a program ends within the time of its step, which its approval shows', async () => {
  const { runId, approval } = await begin(['sleep', '60'], { timeoutSeconds: 15 });
  expect(approval?.request).toMatchObject({ timeoutMs: 15_000 });
  expect(await settled(runId)).toMatchObject({
    status: 'failed',
    error: { code: 'timeout', message: 'system.run took longer than 15000 ms.' },
  });
});

// This test is last because it changes the list of programs.
test('a program whose file was deleted ends when the owner allows only other programs, and the companion keeps running', async () => {
  const path = join(companion.shared, 'removes-itself');
  writeFileSync(path, `#!/bin/sh\nrm "$0"\necho begun > '${effect('gone')}'\nsleep 30\n`, { mode: 0o755 });
  const { runId } = await begin([path]);
  await expect.poll(() => existsSync(effect('gone'))).toBe(true);
  const pid = companion.process()?.pid;
  const allow = ['allow', 'system', '--no-ask', '--yes', '--program'];
  expect(await companion.cli(...allow, '/usr/bin/id')).toMatchObject({ code: 0 });
  expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'interrupted', message: endedAfter } });
  expect(await lastEntry()).toMatchObject({ outcome: 'interrupted', reason: 'owner_denied' });
  const { stdout } = await companion.cli('status', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ running: { pid } });
});
