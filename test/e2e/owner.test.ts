import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Prompt } from '../../shared/companion/state.ts';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { processesWith, startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let companion: TestCompanion;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
  companion = await startCompanion(hub, workspace, { allow: [] });
});
afterAll(async () => {
  await companion[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

const settings = () => join(companion.home, 'settings.json');
const shared = () => JSON.stringify({ sharedFolders: [companion.shared] });
afterEach(async () => {
  writeFileSync(settings(), shared());
  // A pause ends only after the owner accepts the edited settings.
  await cli('settings', 'accept');
});

/** Starts a workflow that runs one program, and approves the program at the hub. */
async function begin(
  input: { argv: string[] } & Record<string, unknown>,
  options: { timeoutSeconds?: number } = {},
): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'owner',
      stepsJson: [
        { type: 'skill', skillId: 'system.run', input: { nodeId: companion.nodeId, ...input } as never, ...options },
      ],
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  expect((await settled(runId)).status).toBe('waiting_approval');
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
  await workspace.session.call('decideAutomationApproval', {
    params: { id: data[0]?.id as string },
    body: { decision: 'approved' },
  });
  return runId;
}
const settled = (id: string): Promise<Run> => settledRun(workspace.api, id);

async function cli(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await companion.cli(...args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}
const prompts = async () => JSON.parse(await cli('prompts', '--json')) as Prompt[];
/** The events of a prompt that the companion printed. */
const eventsOf = (promptId: string) =>
  companion
    .log()
    .split('\n')
    .filter((line) => line.includes(promptId))
    .map((line) => JSON.parse(line) as object);
async function prompted(): Promise<Prompt> {
  let found: Prompt[] = [];
  await expect.poll(async () => (found = await prompts())).toHaveLength(1);
  return found[0] as Prompt;
}

describe('an owner who turned on prompts', () => {
  test('sees the exact command, and the answer once runs it once', async () => {
    await cli('allow', 'system', '--ask');
    const input = {
      argv: ['sh', '-c', 'cat; echo "$1"', 'sh', 'a b'],
      cwd: companion.shared,
      env: { INPUT_A: '1' },
      stdin: 'in\n',
    };
    const runId = await begin(input);
    const prompt = await prompted();
    expect(prompt).toMatchObject({
      argv: input.argv,
      cwd: companion.shared,
      env: { INPUT_A: '1' },
      stdin: 'in\n',
      program: expect.stringMatching(/^\/(usr\/)?bin\/(da)?sh$/) as string,
      programSha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      approvedBy: workspace.email,
      reason: 'no_rule',
    });
    expect(await cli('prompts')).toContain('"cat; echo \\"$1\\""');
    const waitsForOwner = async () => {
      const { waitsFor } = await workspace.api.call('getAutomationRun', { params: { id: runId } });
      return waitsFor?.kind === 'node_command' && waitsFor.waitsForOwner;
    };
    await expect.poll(waitsForOwner).toBe(true);
    await cli('answer', prompt.id, 'once');
    expect(eventsOf(prompt.id)).toMatchObject([
      { event: 'prompt', command: expect.stringContaining('cat; echo') as string, runId, workflow: 'owner' },
      { event: 'prompt_ended', outcome: 'once' },
    ]);
    expect(await settled(runId)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { stdout: 'in\na b\n' } }],
    });
    const again = await begin(input);
    await cli('answer', (await prompted()).id, 'deny');
    expect(await settled(again)).toMatchObject({ status: 'failed', error: { code: 'denied_by_device' } });
    expect(await prompts()).toEqual([]);
    expect(JSON.parse(await cli('audit', '--limit', '2', '--json'))).toMatchObject([
      { type: 'owner.answer', summary: expect.stringMatching(/^denied: sh -c /) as string },
      { type: 'system.run', outcome: 'denied_by_device', reason: 'owner_said_no' },
    ]);
  });

  test('can answer without using up the timeoutSeconds of the step', async () => {
    await cli('allow', 'system', '--ask');
    const runId = await begin({ argv: ['echo', 'answered'] }, { timeoutSeconds: 30 });
    const prompt = await prompted();
    expect(prompt).toMatchObject({ timeoutMs: 30_000 });
    await cli('answer', prompt.id, 'once');
    expect(await settled(runId)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { stdout: 'answered\n' } }],
    });
    const longRunId = await begin({ argv: ['sleep', '60'] }, { timeoutSeconds: 15 });
    await cli('answer', (await prompted()).id, 'once');
    expect(await settled(longRunId)).toMatchObject({
      status: 'failed',
      error: { code: 'timeout', message: 'system.run took longer than 15000 ms.' },
    });
  });

  test('is not prompted again for the same command for 30 minutes, but is for other commands', async () => {
    await cli('allow', 'system', '--ask');
    const first = await begin({ argv: ['echo', 'same'] });
    await cli('answer', (await prompted()).id, '30_minutes');
    expect((await settled(first)).status).toBe('succeeded');
    expect((await settled(await begin({ argv: ['echo', 'same'] }))).status).toBe('succeeded');
    const [rule] = (JSON.parse(await cli('rules', '--json')) as { rules: { until: string; pattern: string }[] }).rules;
    expect(rule?.pattern).toBe('echo same');
    for (const other of [{ argv: ['echo', 'other'] }, { argv: ['echo', 'same'], env: { INPUT_A: '1' } }]) {
      const otherRun = await begin(other);
      await cli('answer', (await prompted()).id, 'deny');
      expect((await settled(otherRun)).status).toBe('failed');
    }
    // Simulates that the 30 minutes have passed.
    const expired = JSON.parse(readFileSync(settings(), 'utf8')) as { system: { rules: { until: string }[] } };
    for (const entry of expired.system.rules) entry.until = '2026-01-01T00:00:00.000Z';
    writeFileSync(settings(), JSON.stringify(expired));
    const laterRun = await begin({ argv: ['echo', 'same'] });
    await cli('answer', (await prompted()).id, 'deny');
    expect((await settled(laterRun)).status).toBe('failed');
  });

  test('can refuse a command for good, and a deny pattern matches every path of a program', async () => {
    await cli('allow', 'system', '--ask');
    const refused = await begin({ argv: ['echo', 'never'] });
    await cli('answer', (await prompted()).id, 'never');
    expect((await settled(refused)).status).toBe('failed');
    expect(await settled(await begin({ argv: ['echo', 'never'] }))).toMatchObject({
      error: { message: expect.stringContaining('for good') as string },
    });
    await cli('ask', 'off', '--yes');
    await cli('rules', 'deny', 'touch **');
    const file = join(companion.shared, 'touched');
    for (const program of ['touch', '/usr/bin/touch', '/bin/../bin/touch'])
      expect((await settled(await begin({ argv: [program, file] }))).status).toBe('failed');
    expect(existsSync(file)).toBe(false);
    await cli('rules', 'allow', 'echo *');
    expect((await settled(await begin({ argv: ['echo', 'fine'] }))).status).toBe('succeeded');
  });

  test('is asked about at most 16 commands at the same time, and the next one is refused', async () => {
    await cli('allow', 'system', '--ask');
    // Started concurrently, because a prompt expires after 2 minutes.
    const runs = await Promise.all(
      Array.from({ length: 16 }, (_, index) => begin({ argv: ['echo', `waiting ${index + 1}`] })),
    );
    await expect.poll(async () => (await prompts()).length).toBe(16);
    expect(await settled(await begin({ argv: ['echo', 'one too many'] }))).toMatchObject({
      status: 'failed',
      error: { code: 'denied_by_device', message: "16 commands already wait for an answer of this machine's owner." },
    });
    const waiting = new Map((await prompts()).map(({ id, argv }) => [argv[1], id]));
    expect(new Set(waiting.keys())).toEqual(new Set(runs.map((_run, index) => `waiting ${index + 1}`)));
    // After an answer, another command can wait.
    await cli('answer', waiting.get('waiting 1') as string, 'once');
    expect((await settled(runs[0] as string)).status).toBe('succeeded');
    await begin({ argv: ['echo', 'next'] });
    await expect.poll(async () => (await prompts()).map(({ argv }) => argv[1])).toContain('next');
    await cli('pause');
    for (const run of runs.slice(1)) expect(await settled(run)).toMatchObject({ error: { code: 'paused' } });
  });

  test('pauses during a prompt, which fails the command and removes the prompt', async () => {
    await cli('allow', 'system', '--ask');
    const runId = await begin({ argv: ['echo', 'paused'] });
    await prompted();
    await cli('pause');
    expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'paused' } });
    expect(await prompts()).toEqual([]);
  });
});

describe('the variables of a program', () => {
  const printed = { argv: ['printenv', 'API_TOKEN'], env: { API_TOKEN: 'secret' } };
  const refused = {
    status: 'failed',
    error: {
      code: 'denied_by_policy',
      message: expect.stringContaining('outrigger-companion variables allow API_TOKEN') as string,
    },
  };

  test('are refused without a prompt until the owner allows their names, and again after the owner removes them', async () => {
    await cli('allow', 'system', '--ask');
    expect(await settled(await begin(printed))).toMatchObject(refused);
    expect(await prompts()).toEqual([]);
    await cli('ask', 'off', '--yes');
    await cli('variables', 'allow', 'API_TOKEN');
    expect(await settled(await begin(printed))).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { stdout: 'secret\n' } }],
    });
    await companion.stop();
    await companion.start();
    expect((await settled(await begin(printed))).status).toBe('succeeded');
    const runId = await begin({ argv: ['sleep', '3473'], env: { API_TOKEN: 'secret' } });
    await expect.poll(() => processesWith('sleep\u00003473').length).toBe(1);
    await cli('variables', 'remove', 'API_TOKEN');
    expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(await settled(await begin(printed))).toMatchObject(refused);
  });

  test('that another program adds to settings.json stay refused until the owner accepts them', async () => {
    await cli('allow', 'system', '--no-ask', '--yes');
    const edited = JSON.parse(readFileSync(settings(), 'utf8')) as { system: { variables: string[] } };
    edited.system.variables = ['API_TOKEN'];
    writeFileSync(settings(), JSON.stringify(edited));
    expect(await settled(await begin(printed))).toMatchObject(refused);
    writeFileSync(settings(), JSON.stringify(edited));
    await cli('settings', 'accept');
    expect((await settled(await begin(printed))).status).toBe('succeeded');
  });
});

test('a temporary permission that expires ends running commands', async () => {
  await cli('allow', 'system', '--no-ask', '--yes', '--for', '30m');
  expect((await settled(await begin({ argv: ['true'] }))).status).toBe('succeeded');
  const runId = await begin({ argv: ['sleep', '3471'] });
  await expect.poll(() => processesWith('sleep\u00003471').length).toBe(1);
  const near = JSON.parse(readFileSync(settings(), 'utf8')) as { until: { system: string } };
  near.until.system = new Date(Date.now() + 1_500).toISOString();
  writeFileSync(settings(), JSON.stringify(near));
  expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
  await expect.poll(() => processesWith('sleep\u00003471')).toEqual([]);
  expect(await settled(await begin({ argv: ['true'] }))).toMatchObject({ error: { code: 'denied_by_device' } });
  expect(await cli('status')).toMatch(/^allowed +files$/m);
});

test('a pause ends a program that ignores SIGTERM', async () => {
  await cli('allow', 'system', '--no-ask', '--yes');
  const runId = await begin({ argv: ['sh', '-c', 'trap "" TERM; while :; do sleep 0.1; : stubborn-3472; done'] });
  await expect.poll(() => processesWith('stubborn-3472').length).toBeGreaterThan(0);
  await cli('pause');
  expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
  await expect.poll(() => processesWith('stubborn-3472')).toEqual([]);
});

test('unpairing a running companion ends it and revokes its node at the hub', async () => {
  await using other = await startCompanion(hub, workspace, { allow: [] });
  const { code, stdout } = await other.cli('unpair', '--json');
  expect({ code, ...(JSON.parse(stdout) as object) }).toEqual({ code: 0, unpaired: other.nodeId, hubKnows: true });
  await expect.poll(() => other.process()?.exitCode).not.toBeNull();
  const { data } = await workspace.api.call('listAutomationNodes', {});
  expect(data.find(({ id }) => id === other.nodeId)?.status ?? 'revoked').toBe('revoked');
  expect(existsSync(join(other.home, 'identity.json'))).toBe(false);
});
