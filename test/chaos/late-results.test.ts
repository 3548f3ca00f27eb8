import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../hub/platform/db/database.ts';
import { recordReachable } from '../../hub/products/nodes/commands/reachability.ts';
import { NodeCommands } from '../../hub/products/nodes/index.ts';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

/** Results that arrive after the hub gave up their commands, or after the hub was down. */

interface Device {
  nodeId: string;
  secret: string;
}
interface LeasedCommand {
  runId: string;
  commandId: string;
}

const env = { RATE_LIMIT_PER_MINUTE: '100000' };
let database: TestDatabase;
let hub: TestHub;
let workspace: TestWorkspace;
let device: Device;
let api: Client;

beforeAll(async () => {
  database = await acquireDatabase();
  hub = await startHub(env, database);
  workspace = await hub.workspace();
  api = workspace.api;
  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { allowBrowser: true } });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
    },
  });
  device = { nodeId, secret: deviceSecret };
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const click = (more: Record<string, unknown> = {}) => ({
  type: 'skill' as const,
  skillId: 'browser.click' as const,
  input: { nodeId: device.nodeId, waitMs: 60_000, target: { text: 'x' } },
  ...more,
});
const log = { type: 'log' as const, message: 'after' };
const clicked = { status: 'succeeded' as const, output: { pageId: 'p1', url: 'https://example.com/', title: 't' } };

async function startRun(steps: unknown[]): Promise<string> {
  const { id } = await api.call('createAutomationWorkflow', { body: { name: 'late', stepsJson: steps as never } });
  return startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId;
}
/** Polls for the next command, which takes longer than one poll on a busy machine. */
async function nextCommand() {
  for (;;) {
    const { commands } = await hub
      .client(device.secret)
      .call('pollAutomationNodeCommands', { params: { id: device.nodeId }, query: { wait: 20, max: 1 } });
    if (commands[0] !== undefined) return commands[0];
  }
}
const pollCommand = async (runId: string): Promise<LeasedCommand> => ({ runId, commandId: (await nextCommand()).id });
const report = (commandId: string, body: object = clicked) =>
  hub
    .client(device.secret)
    .call('completeAutomationNodeCommand', { params: { id: device.nodeId, commandId }, body: body as never });
const read = (id: string): Promise<Run> => settledRun(api, id);
const expireCommand = (commandId: string) =>
  database.query(`update node_commands set lease_expires_at = now() - interval '1 second' where id = $1`, [commandId]);
const commandRow = async (commandId: string) =>
  (
    await database.query<{ status: string; overdue: boolean; error: { code: string } | null }>(
      'select status, overdue, error from node_commands where id = $1',
      [commandId],
    )
  )[0];
const audited = async (runId: string) =>
  (
    await database.query<{ details: Record<string, unknown> }>(
      `select details from audit_log where action = 'node_command.late_result' and target_id = $1`,
      [runId],
    )
  ).map(({ details }) => details);

/** Starts a run whose device does not respond until its lease expires. */
async function startExpiredCommand(steps: unknown[]): Promise<LeasedCommand> {
  const leased = await pollCommand(await startRun(steps));
  await expireCommand(leased.commandId);
  return leased;
}

describe('a result that arrives after its command expired', () => {
  test('resumes a run that failed only because of the expired command', async () => {
    const { runId, commandId } = await startExpiredCommand([click(), log]);
    expect(await read(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
    expect(await report(commandId)).toEqual({ id: commandId, status: 'succeeded', recorded: true });
    expect(await read(runId)).toMatchObject({
      status: 'succeeded',
      error: null,
      stepsResultJson: [{ status: 'succeeded', output: clicked.output, error: null }, { status: 'succeeded' }],
    });
    expect(await commandRow(commandId)).toMatchObject({ status: 'succeeded', overdue: false, error: null });
    expect(await audited(runId)).toMatchObject([
      { commandId, endedBefore: 'outcome_unknown', status: 'succeeded', runGoesOn: true },
    ]);
    // A result is recorded once.
    expect(await report(commandId)).toMatchObject({ status: 'succeeded', recorded: false });
  });

  test('that is a failure is recorded for the command and does not change the error of the step', async () => {
    const { runId, commandId } = await startExpiredCommand([click(), log]);
    expect((await read(runId)).status).toBe('failed');
    await report(commandId, {
      status: 'failed',
      error: { code: 'denied_by_device', message: 'The owner does not allow it.' },
    });
    expect(await read(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'outcome_unknown', stepIndex: 0 },
      stepsResultJson: [{ status: 'failed', error: { code: 'outcome_unknown' } }, { status: 'pending' }],
    });
    expect(await commandRow(commandId)).toMatchObject({ status: 'failed', error: { code: 'denied_by_device' } });
    expect(await audited(runId)).toMatchObject([
      { endedBefore: 'outcome_unknown', status: 'failed', runGoesOn: false },
    ]);
  });

  test('does not change the error of the command if the page was closed because the run had finished', async () => {
    const { runId, commandId } = await startExpiredCommand([click(), log]);
    expect((await read(runId)).status).toBe('failed');
    await report(commandId, {
      status: 'failed',
      error: { code: 'page_closed', message: 'The page p1 is not open: its run is over.' },
    });
    expect((await read(runId)).stepsResultJson[0]?.error?.code).toBe('outcome_unknown');
    expect(await commandRow(commandId)).toMatchObject({ error: { code: 'outcome_unknown' }, overdue: false });
  });

  test('does not change a run that was retried, nor its retry', async () => {
    const { runId, commandId } = await startExpiredCommand([click(), log]);
    await read(runId);
    const retried = await api.call('retryAutomationRun', { params: { id: runId } });
    const second = await pollCommand(retried.id);
    expect(await report(commandId)).toMatchObject({ recorded: true });
    expect(await read(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'outcome_unknown' },
      stepsResultJson: [{ status: 'failed', error: { code: 'outcome_unknown' } }, { status: 'pending' }],
    });
    expect((await api.call('getAutomationRun', { params: { id: retried.id } })).status).toBe('running');
    await report(second.commandId);
    expect((await read(retried.id)).status).toBe('succeeded');
    expect(await audited(runId)).toMatchObject([{ runGoesOn: false }]);
  });

  test('does not change a step whose failure the run ignored', async () => {
    const { runId, commandId } = await startExpiredCommand([click({ continueOnError: true }), log]);
    expect(await read(runId)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ status: 'failed', error: { code: 'outcome_unknown' } }, { status: 'succeeded' }],
    });
    await report(commandId);
    expect(await read(runId)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ status: 'failed', error: { code: 'outcome_unknown' } }, { status: 'succeeded' }],
    });
    expect(await commandRow(commandId)).toMatchObject({ status: 'succeeded' });
  });

  test('is accepted if the device keeps to the timeoutMs of its command, which is within the step timeout', async () => {
    const runId = await startRun([click({ timeoutSeconds: 5 }), log]);
    const command = await nextCommand();
    expect(command.input['timeoutMs']).toBeLessThanOrEqual(5_000);
    expect(command.endsInMs).toBeLessThanOrEqual(5_000);
    // The hub waits longer than the time limit of the device.
    const [row] = await database.query<{ isLater: boolean }>(
      `select expires_at > created_at + interval '10 seconds' as "isLater" from node_commands where id = $1`,
      [command.id],
    );
    expect(row?.isLater).toBe(true);
    await report(command.id);
    expect((await read(runId)).status).toBe('succeeded');
  });

  test('is preceded by an error that names the step timeout if the device still works after the timeout', async () => {
    const { runId, commandId } = await pollCommand(await startRun([click({ timeoutSeconds: 5 }), log]));
    await database.query(
      `update node_commands set deadline_at = now() - interval '1 second', expires_at = now() - interval '1 second' where id = $1`,
      [commandId],
    );
    expect(await read(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'outcome_unknown', message: expect.stringContaining('timeoutSeconds of its step') as string },
    });
    // The device must end the command.
    const { withdrawn } = await hub.client(device.secret).call('pollAutomationNodeCommands', {
      params: { id: device.nodeId },
      query: { running: commandId, runningIsComplete: 'true' },
    });
    expect(withdrawn).toEqual([commandId]);
  });

  test('does not undo a step timeout, but a retry continues after the recorded step', async () => {
    const { runId, commandId } = await startExpiredCommand([click({ timeoutSeconds: 600 }), log]);
    await read(runId);
    await database.query(`update node_commands set deadline_at = now() - interval '1 second' where id = $1`, [
      commandId,
    ]);
    await report(commandId);
    expect(await read(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'outcome_unknown' },
      stepsResultJson: [{ status: 'succeeded' }, { status: 'pending' }],
    });
    // The output counts towards the output limit of the run.
    expect(
      await database.query(
        'select output_bytes = octet_length(output::text) + octet_length(output_text) as counted from run_steps where run_id = $1 and index = 0',
        [runId],
      ),
    ).toEqual([{ counted: true }]);
    const retried = await api.call('retryAutomationRun', { params: { id: runId } });
    expect(await read(retried.id)).toMatchObject({ status: 'succeeded' });
  });

  test.each(['keeps the error workflow', 'names another error workflow', 'names no error workflow'])(
    'does not undo a failure that an error workflow handled, when the policy %s',
    async (policy) => {
      const create = async (name: string) =>
        (await api.call('createAutomationWorkflow', { body: { name, stepsJson: [log] } })).id;
      await api.call('putAutomationPolicy', { body: { errorWorkflowId: await create('handler') } });
      const handled = await startExpiredCommand([click(), log]);
      await read(handled.runId);
      if (policy === 'names another error workflow')
        await api.call('putAutomationPolicy', { body: { errorWorkflowId: await create('other') } });
      if (policy === 'names no error workflow') await api.call('putAutomationPolicy', { body: {} });
      await report(handled.commandId);
      await api.call('putAutomationPolicy', { body: {} });
      expect(await read(handled.runId)).toMatchObject({
        status: 'failed',
        stepsResultJson: [{ status: 'succeeded' }, { status: 'pending' }],
      });
    },
  );

  test('does not undo a failure that is two hours old', async () => {
    const old = await startExpiredCommand([click(), log]);
    await read(old.runId);
    await database.query(`update runs set finished_at = now() - interval '2 hours' where id = $1`, [old.runId]);
    await report(old.commandId);
    expect(await read(old.runId)).toMatchObject({
      status: 'failed',
      stepsResultJson: [{ status: 'succeeded' }, { status: 'pending' }],
    });
  });

  test('resumes the run even if a worker is about to write the failure', async () => {
    const { runId, commandId } = await pollCommand(await startRun([click(), log]));
    // A worker has read the command as failed and has not written the failure of the step yet.
    await database.query(
      `update node_commands set status = 'failed', overdue = true, lease_expires_at = null, finished_at = now(), error = '{"code":"outcome_unknown","message":"x"}' where id = $1`,
      [commandId],
    );
    const [before] = await database.query<{ fence: string }>(
      `update runs set fence = fence + 1, holder_id = gen_random_uuid() where id = $1 returning fence`,
      [runId],
    );
    await report(commandId);
    expect(await read(runId)).toMatchObject({ status: 'succeeded' });
    const [after] = await database.query<{ fence: string }>('select fence from runs where id = $1', [runId]);
    expect(Number(after?.fence)).toBeGreaterThan(Number(before?.fence));
    const overtaken = await database.query(
      `update runs set status = 'failed' where id = $1 and fence = $2 returning id`,
      [runId, before?.fence],
    );
    expect(overtaken).toEqual([]);
  });

  test('keeps its command running on the device until the run is retried', async () => {
    const { runId, commandId } = await startExpiredCommand([click(), log]);
    await read(runId);
    const poll = () =>
      hub.client(device.secret).call('pollAutomationNodeCommands', {
        params: { id: device.nodeId },
        query: { running: commandId, runningIsComplete: 'true' },
      });
    expect((await poll()).withdrawn).toEqual([]);
    const { id: retriedId } = await api.call('retryAutomationRun', { params: { id: runId } });
    await until(
      async () => (await database.query('select 1 from node_commands where run_id = $1', [retriedId])).length === 1,
      () => 'the command of the retried run was not written',
    );
    expect((await poll()).withdrawn).toEqual([commandId]);
    // So that later tests do not receive it.
    await database.query(
      `update node_commands set status = 'withdrawn', lease_expires_at = null, finished_at = now() where run_id = $1`,
      [retriedId],
    );
  });
});

/** Changes the database as if no hub had run for five minutes. */
const fiveMinutesPass = async () => {
  await database.query(
    `update hub_settings set updated_at = updated_at - interval '5 minutes' where key = 'devices_served'`,
  );
  await database.query(
    `update node_commands set lease_expires_at = lease_expires_at - interval '5 minutes', expires_at = expires_at - interval '5 minutes', created_at = created_at - interval '5 minutes', handed_out_at = handed_out_at - interval '5 minutes' where status in ('pending', 'leased')`,
  );
};

describe('a hub that was down for five minutes', () => {
  test('accepts the result of an acting command that finished meanwhile, and leases the commands that waited', async () => {
    const acting = await pollCommand(await startRun([click(), log]));
    const waiting = await startRun([{ type: 'skill', skillId: 'node.ping', input: { nodeId: device.nodeId } }]);
    await until(
      async () => (await database.query('select 1 from node_commands where run_id = $1', [waiting])).length === 1,
      () => 'the ping was not written',
    );
    await hub[Symbol.asyncDispose]();
    await fiveMinutesPass();
    hub = await startHub(env, database);
    api = hub.client(workspace.key);
    // Two sweeps run before the device reports.
    await hub.app.sweep();
    await hub.app.sweep();
    expect((await commandRow(acting.commandId))?.status).toBe('leased');
    expect(await report(acting.commandId)).toMatchObject({ recorded: true });
    expect(await read(acting.runId)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: clicked.output }, {}],
    });
    const ping = await pollCommand(waiting);
    await report(ping.commandId, { status: 'succeeded', output: { pong: true, latencyMs: 0, appVersion: '1' } });
    expect((await read(waiting)).status).toBe('succeeded');
  });

  test('expires no command while no process serves devices, and extends the deadlines once, even if several processes start', async () => {
    const { runId, commandId } = await pollCommand(await startRun([click(), log]));
    await hub[Symbol.asyncDispose]();
    await fiveMinutesPass();
    await using db = new Database({
      url: database.url,
      maxConnections: 6,
      applicationName: 'test',
      onError: () => undefined,
    });
    const worker = new NodeCommands({ db });
    expect(await worker.sweep()).toBe(0);
    const given = await Promise.all([recordReachable(db), recordReachable(db), recordReachable(db)]);
    const extended = given.map(({ extendedCommands }) => extendedCommands);
    expect(extended.toSorted()).toEqual([0, 0, expect.any(Number)]);
    expect(Math.max(...extended)).toBeGreaterThan(0);
    expect(await worker.sweep()).toBe(0);
    const [row] = await database.query<{ status: string; left: number }>(
      'select status, extract(epoch from lease_expires_at - now())::float8 as left from node_commands where id = $1',
      [commandId],
    );
    expect(row?.status).toBe('leased');
    expect(row?.left).toBeGreaterThan(45);
    // After the extended deadline, a command without a response fails.
    await recordReachable(db);
    await expireCommand(commandId);
    expect(await worker.sweep()).toBe(1);
    hub = await startHub(env, database);
    api = hub.client(workspace.key);
    expect(await read(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
  });
});
