import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { processesWith, runCompanionCli, startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let companion: TestCompanion;
beforeAll(async () => {
  hub = await startHub({ NODE_HEARTBEAT_SECONDS: '2', RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
  companion = await startCompanion(hub, workspace);
});
afterAll(async () => {
  await companion[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

interface Steps {
  skillId: string;
  input?: Record<string, unknown>;
  timeoutSeconds?: number;
}

async function begin(steps: Steps[], node = companion): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'e2e',
      stepsJson: steps.map(({ skillId, input = {}, ...rest }) => ({
        type: 'skill' as const,
        skillId,
        input: { nodeId: node.nodeId, ...input } as never,
        ...rest,
      })),
    },
  });
  return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId;
}
const settled = (id: string): Promise<Run> => settledRun(workspace.api, id);

async function approve(runId: string, decision: 'approved' | 'rejected' = 'approved') {
  expect((await settled(runId)).status).toBe('waiting_approval');
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
  const [approval] = data;
  await workspace.session.call('decideAutomationApproval', {
    params: { id: approval?.id as string },
    body: { decision },
  });
  return approval;
}

async function one(skillId: string, input: Record<string, unknown> = {}, node = companion): Promise<Run> {
  return settled(await begin([{ skillId, input }], node));
}
async function system(input: Record<string, unknown>, node = companion): Promise<Run> {
  const runId = await begin([{ skillId: 'system.run', input }], node);
  await approve(runId);
  return settled(runId);
}
const output = (run: Run) => run.stepsResultJson[0]?.output as Record<string, unknown>;

describe('a paired machine', () => {
  test('answers a ping and reports its platform, name and facts', async () => {
    const run = await one('node.ping');
    expect(run).toMatchObject({ status: 'succeeded', stepsResultJson: [{ output: { pong: true } }] });
    expect(output(run)['latencyMs']).toBeGreaterThan(0);
    await expect
      .poll(async () => (await workspace.api.call('listAutomationNodes', {})).data[0]?.facts)
      .toMatchObject({ memory: { totalBytes: expect.any(Number) as number } });
    const { data } = await workspace.api.call('listAutomationNodes', { query: { status: 'online' } });
    expect(data.find(({ id }) => id === companion.nodeId)).toMatchObject({
      status: 'online',
      device: { platform: process.platform, name: 'test machine' },
      paused: false,
    });
  });

  test('cannot be paired with a used pairing code', async () => {
    const { pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const env = { OUTRIGGER_COMPANION_HOME: join(companion.home, '..', 'second') };
    expect(await runCompanionCli(['pair', pairingCode, '--hub', hub.url], env)).toMatchObject({ code: 0 });
    const again = await runCompanionCli(['pair', pairingCode, '--hub', hub.url, '--force'], env);
    expect(again.code).toBe(1);
    expect(again.stderr).toBe(
      'outrigger-companion: This pairing code is wrong, used or expired; make a new one at the hub.\n',
    );
  });

  test('gets one-line errors on the command line', async () => {
    const env = { OUTRIGGER_COMPANION_HOME: join(companion.home, '..', 'third') };
    expect(await runCompanionCli(['run'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^outrigger-companion: This machine is not paired.*\n$/) as string,
    });
    expect(await runCompanionCli(['pair', 'X', '--hub', 'ftp://x'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--hub must be') as string,
    });
    expect(await runCompanionCli(['pair', 'X', '--hub', 'http://hub.example.org'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not encrypted') as string,
    });
    expect(await runCompanionCli(['share', '/no/such/folder'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not a folder') as string,
    });
    expect(await runCompanionCli(['nonsense'], env)).toMatchObject({ code: 2 });
    expect(await runCompanionCli(['--help'], env)).toMatchObject({ code: 0 });
    writeFileSync(join(companion.home, '..', 'third', 'settings.json'), '{"system":{"allowed":"yes"}}');
    expect(await runCompanionCli(['status'], env)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('settings.json is broken at system.allowed') as string,
    });
    const second = await companion.cli('run');
    expect(second).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Another companion (process ${companion.process()?.pid})`) as string,
    });
  });

  test('stores its device secret in a file that only its owner reads, and the hub does not store it', async () => {
    const identity = JSON.parse(readFileSync(join(companion.home, 'identity.json'), 'utf8')) as {
      deviceSecret: string;
    };
    expect(execFileSync('stat', ['-c', '%a', join(companion.home, 'identity.json')], { encoding: 'utf8' }).trim()).toBe(
      '600',
    );
    const rows = await hub.database.query<{ text: string }>('select row_to_json(n)::text as text from nodes n');
    expect(rows.some(({ text }) => text.includes(identity.deviceSecret))).toBe(false);
  });
});

describe('files', () => {
  test('are listed and read in a shared folder, in ranges and with a checksum', async () => {
    writeFileSync(join(companion.shared, 'a.txt'), 'hello harbour');
    writeFileSync(join(companion.shared, 'b.bin'), Buffer.from([0, 255, 254]));
    expect(
      (output(await one('node.files_list', { path: 'shared' }))['entries'] as { name: string }[]).map(
        ({ name }) => name,
      ),
    ).toEqual(['a.txt', 'b.bin']);
    expect(output(await one('node.files_read', { path: 'shared/a.txt', offset: 6, length: 3 }))).toEqual({
      encoding: 'utf8',
      content: 'har',
      bytes: 3,
      eof: false,
      sha256: createHash('sha256').update('har').digest('hex'),
    });
    expect(output(await one('node.files_read', { path: join(companion.shared, 'b.bin') }))).toMatchObject({
      encoding: 'base64',
      content: 'AP/+',
      eof: true,
    });
  });

  test('of a folder with more than 10,000 entries are listed in pages sorted by name, or by a pattern', async () => {
    const many = join(companion.shared, 'many');
    mkdirSync(many);
    const names = Array.from({ length: 12_000 }, (_value, index) => `${(index * 7_919) % 12_000}`.padStart(5, '0'));
    for (const name of names) writeFileSync(join(many, `${name}.${Number(name) % 1_000 === 0 ? 'pdf' : 'txt'}`), '');
    const list = async (input: object) =>
      output(await one('node.files_list', { path: 'shared/many', ...input })) as {
        entries: { name: string }[];
        truncated: boolean;
        nextCursor: string | null;
      };
    const first = await list({});
    expect([first.entries.length, first.truncated, first.nextCursor]).toEqual([10_000, true, '09999.txt']);
    // Files that are removed or added between two pages do not shift the second page.
    unlinkSync(join(many, '00001.txt'));
    writeFileSync(join(many, '00000.new'), '');
    const second = await list({ cursor: first.nextCursor });
    expect([second.entries.length, second.truncated, second.nextCursor]).toEqual([2_000, false, null]);
    expect([...first.entries, ...second.entries].map(({ name }) => name.slice(0, 5))).toEqual(names.toSorted());
    expect((await list({ glob: '0?000.*f', limit: 2 })).entries.map(({ name }) => name)).toEqual([
      '00000.pdf',
      '01000.pdf',
    ]);
    expect((await list({ glob: '*.pdf', cursor: '01000.pdf', limit: 1 })).entries.map(({ name }) => name)).toEqual([
      '02000.pdf',
    ]);
    expect(await list({ glob: '*[*' })).toEqual({ entries: [], truncated: false, nextCursor: null });
  });

  test('that are large become artifacts, which can be read in ranges', async () => {
    const bytes = Buffer.alloc(6 * 1024 * 1024, 'outrigger');
    writeFileSync(join(companion.shared, 'large.bin'), bytes);
    const result = output(await one('node.files_read', { path: 'shared/large.bin' })) as {
      artifactId: string;
      sha256: string;
      bytes: number;
    };
    expect(result).toMatchObject({
      encoding: 'artifact',
      bytes: bytes.length,
      eof: true,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    const read = (headers: Record<string, string> = {}, key = workspace.key) =>
      fetch(`${hub.url}/v1/automations/artifacts/${result.artifactId}`, { headers: { 'x-api-key': key, ...headers } });
    const whole = await read();
    expect(
      createHash('sha256')
        .update(Buffer.from(await whole.arrayBuffer()))
        .digest('hex'),
    ).toBe(result.sha256);
    expect(whole.headers.get('content-disposition')).toContain('attachment');
    const part = await read({ range: 'bytes=9-17' });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe(`bytes 9-17/${bytes.length}`);
    expect(await part.text()).toBe('outrigger');
    expect((await read({ range: 'bytes=-9' })).status).toBe(206);
    expect((await read({ range: `bytes=${bytes.length}-` })).status).toBe(416);
    expect((await read({}, (await hub.workspace()).key)).status).toBe(404);
  });

  test('outside the shared folders cannot be read by any path', async () => {
    const secret = join(companion.home, '..', 'secret.txt');
    writeFileSync(secret, 'secret');
    symlinkSync(secret, join(companion.shared, 'link.txt'));
    symlinkSync('/', join(companion.shared, 'root'));
    mkdirSync(join(companion.shared, 'sub'), { recursive: true });
    for (const path of [
      secret,
      '/etc/passwd',
      'shared/../secret.txt',
      'shared/sub/../../secret.txt',
      'shared/link.txt',
      'shared/root/etc/passwd',
      '../secret.txt',
      'other/a.txt',
      join(companion.shared, '..', 'secret.txt'),
      '/nowhere/at/all',
    ]) {
      expect(await one('node.files_read', { path }), path).toMatchObject({
        status: 'failed',
        error: { code: 'outside_shared_folders' },
      });
    }
    expect(await one('node.files_list', { path: 'shared/root' })).toMatchObject({
      error: { code: 'outside_shared_folders' },
    });
    expect(await one('node.files_read', { path: 'shared/missing' })).toMatchObject({ error: { code: 'not_found' } });
    expect(await one('node.files_read', { path: 'shared/sub' })).toMatchObject({ error: { code: 'invalid_input' } });
    execFileSync('mkfifo', [join(companion.shared, 'pipe')]);
    // The writer blocks until another process opens the pipe, so the test detects the opening.
    const writer = spawn('sh', ['-c', 'echo untouched > "$0"', join(companion.shared, 'pipe')], { stdio: 'ignore' });
    await expect.poll(() => readFileSync(`/proc/${writer.pid}/syscall`, 'utf8')).toMatch(/^257 /);
    expect(await one('node.files_read', { path: 'shared/pipe' })).toMatchObject({ error: { code: 'invalid_input' } });
    expect(readFileSync(join(companion.shared, 'pipe'), 'utf8')).toBe('untouched\n');
  });

  test('outside the shared folders cannot be read while a shared file is replaced by a link', async () => {
    const path = join(companion.shared, 'swapped.txt');
    const secret = join(companion.home, '..', 'secret.txt');
    let stop = false;
    const swapping = (async () => {
      while (!stop) {
        writeFileSync(`${path}.a`, 'public');
        renameSync(`${path}.a`, path);
        symlinkSync(secret, `${path}.b`);
        renameSync(`${path}.b`, path);
        await new Promise((done) => setImmediate(done));
      }
    })();
    const runs = await settled(
      await begin(
        Array.from({ length: 60 }, () => ({
          skillId: 'node.files_read',
          input: { path: 'shared/swapped.txt' },
          continueOnError: true,
        })),
      ),
    );
    stop = true;
    await swapping;
    unlinkSync(path);
    expect(JSON.stringify(runs.stepsResultJson.map((step) => step.output))).not.toContain('secret');
    const failures = runs.stepsResultJson.flatMap(({ status, error }) => (status === 'succeeded' ? [] : [error]));
    expect(failures.filter((error) => !['outside_shared_folders', 'not_found'].includes(error?.code ?? ''))).toEqual(
      [],
    );
  });
});

describe('system.run', () => {
  test('runs the approved program without a shell and returns its output', async () => {
    const run = await system({
      argv: ['sh', '-c', 'echo "$INPUT_GREETING; $0 $1"; cat; echo oops >&2; exit 3', 'a b', '$(id)'],
      env: { INPUT_GREETING: 'ahoy' },
      stdin: 'from stdin\n',
      cwd: companion.shared,
      failOnExitCode: false,
    });
    expect(run).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [
        {
          output: {
            exitCode: 3,
            signal: null,
            stdout: 'ahoy; a b $(id)\nfrom stdin\n',
            stderr: 'oops\n',
            truncated: false,
          },
        },
      ],
    });
  });

  test('fails the step on an exit code other than 0, and later steps can read code and output', async () => {
    const input = { nodeId: companion.nodeId, argv: ['sh', '-c', 'echo half; echo broken >&2; exit 3'] };
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'exit code',
        stepsJson: [
          { type: 'skill', id: 'program', skillId: 'system.run', input, continueOnError: true },
          {
            type: 'log',
            message:
              '{{steps.program.error.code}} {{steps.program.output.exitCode}} {{steps.program.output.stdout}}{{steps.program.output.stderr}}',
          },
          { type: 'skill', skillId: 'system.run', input: { ...input, argv: ['sh', '-c', 'kill -9 $$'] } },
        ],
      },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    await approve(runId);
    await approve(runId);
    const run = await settled(runId);
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'exit_code', message: 'The program was ended by SIGKILL.', stepIndex: 2 },
      stepsResultJson: [
        {
          status: 'failed',
          error: { code: 'exit_code', message: 'The program ended with exit code 3: broken' },
          output: { exitCode: 3, stdout: 'half\n', stderr: 'broken\n' },
        },
        { status: 'succeeded', input: { message: 'exit_code 3 half\nbroken\n' } },
        { status: 'failed', output: { exitCode: null, signal: 'SIGKILL' } },
      ],
    });
  });

  test('shows node, arguments and environment to the approver, and runs nothing when rejected', async () => {
    const file = join(companion.shared, 'never');
    const runId = await begin([{ skillId: 'system.run', input: { argv: ['touch', file], env: { INPUT_A: '1' } } }]);
    const approval = await approve(runId, 'rejected');
    expect(approval).toMatchObject({
      kind: 'system.run',
      request: { nodeId: companion.nodeId, argv: ['touch', file], env: { INPUT_A: '1' } },
    });
    expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'approval_rejected' } });
    expect(() => readFileSync(file)).toThrow();
  });

  test('is refused by the device if the command differs from the approved command', async () => {
    const runId = await begin([{ skillId: 'system.run', input: { argv: ['echo', 'approved'] } }]);
    // An attacker with access to the database changes the command before it reaches the device.
    await hub.database.query(
      `create or replace function tamper() returns trigger language plpgsql as $$ begin new.input = jsonb_set(new.input, '{argv}', '["echo","tampered"]'); return new; end $$`,
    );
    await hub.database.query(
      'create trigger tamper before insert on node_commands for each row execute function tamper()',
    );
    try {
      await approve(runId);
      expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'approval_mismatch' } });
    } finally {
      await hub.database.query('drop trigger tamper on node_commands');
    }
    // The attacker changes the stored approval.
    const second = await begin([{ skillId: 'system.run', input: { argv: ['echo', 'approved'] } }]);
    expect((await settled(second)).status).toBe('waiting_approval');
    await hub.database.query(
      `update approvals set request = jsonb_set(request, '{argv}', '["echo","tampered"]') where run_id = $1`,
      [second],
    );
    await approve(second);
    expect(await settled(second)).toMatchObject({ status: 'failed', error: { code: 'approval_mismatch' } });
  });

  test('does not accept an approval in the input of a step', async () => {
    const steps = (input: Record<string, unknown>) => ({
      name: 'x',
      stepsJson: [
        { type: 'skill', skillId: 'system.run', input: { nodeId: companion.nodeId, argv: ['id'], ...input } },
      ],
    });
    for (const input of [{ approved: true }, { approval: { id: 'x' } }, { requestHash: 'x' }]) {
      expect(
        await send(hub.url, 'POST', '/v1/automations/workflows', {
          headers: { 'x-api-key': workspace.key },
          body: steps(input),
        }),
      ).toMatchObject({ status: 400, body: { code: 'workflow_invalid' } });
    }
  });

  test('ends all processes of the program at the time-out, including those in another process group', async () => {
    const mark = `tree-${Date.now()}`;
    const run = await system({
      argv: ['sh', '-c', `setsid sleep 3131 & sleep 3131 & echo ${mark}; sleep 3131`],
      timeoutMs: 700,
    });
    expect(run).toMatchObject({ status: 'failed', error: { code: 'timeout' } });
    await expect.poll(() => processesWith('sleep\u00003131')).toEqual([]);
  });

  test('limits the output and does not wait for a child that keeps the output open', async () => {
    const run = await system({ argv: ['sh', '-c', 'sleep 3232 & yes | head -c 3000000'] });
    expect(run.status).toBe('succeeded');
    expect(output(run)).toMatchObject({ truncated: true, exitCode: 0 });
    expect((output(run)['stdout'] as string).length).toBe(1024 * 1024);
    await expect.poll(() => processesWith('sleep\u00003232')).toEqual([]);
  });

  test('has a minimal environment and refuses variables that the owner did not allow', async () => {
    const run = await system({ argv: ['env'] });
    const names = (output(run)['stdout'] as string)
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names.toSorted()).toEqual(['HOME', 'LANG', 'OUTRIGGER_COMMAND', 'PATH', 'TMPDIR', 'USER']);
    expect(await system({ argv: ['id'], env: { LD_PRELOAD: '/tmp/x.so' } })).toMatchObject({
      error: { code: 'denied_by_policy' },
    });
    expect(await system({ argv: ['no-such-program'] })).toMatchObject({ error: { code: 'not_found' } });
    expect(await system({ argv: ['id'], cwd: '/no/such/folder' })).toMatchObject({ error: { code: 'not_found' } });
  });

  test('ends the program when its run is cancelled', async () => {
    const runId = await begin([{ skillId: 'system.run', input: { argv: ['sleep', '3333'] } }]);
    await approve(runId);
    await expect.poll(() => processesWith('sleep\u00003333').length).toBe(1);
    expect(await workspace.api.call('cancelAutomationRun', { params: { id: runId } })).toMatchObject({
      status: 'cancelled',
    });
    await expect.poll(() => processesWith('sleep\u00003333')).toEqual([]);
  });

  test('runs only programs that the owner allows', async () => {
    await companion.cli('allow', 'system', '--no-ask', '--yes', '--program', 'uname');
    expect(await system({ argv: ['id'] })).toMatchObject({ error: { code: 'denied_by_device' } });
    expect(await system({ argv: ['uname'] })).toMatchObject({ status: 'succeeded' });
    await companion.cli('deny', 'system');
    expect(await system({ argv: ['uname'] })).toMatchObject({
      error: { code: 'denied_by_device', message: expect.stringContaining('allow system') as string },
    });
    writeFileSync(
      join(companion.home, 'settings.json'),
      JSON.stringify({ sharedFolders: [companion.shared], system: { allowed: true } }),
    );
    await companion.cli('settings', 'accept');
  });
});

describe('the owner', () => {
  test.each(['screen', 'camera', 'audio'])(
    'has to allow %s after pairing, and the error contains the command for it',
    async (power) => {
      const run = await one(`node.capture_${power}`, power === 'audio' ? { seconds: 1 } : {});
      expect(run).toMatchObject({
        status: 'failed',
        error: {
          code: 'denied_by_device',
          message: expect.stringContaining(`outrigger-companion allow ${power}`) as string,
        },
      });
    },
  );

  test('pauses all commands immediately and reads the audit log', async () => {
    const runId = await begin([{ skillId: 'system.run', input: { argv: ['sleep', '3434'] } }]);
    await approve(runId);
    await expect.poll(() => processesWith('sleep\u00003434').length).toBe(1);
    expect(await companion.cli('pause')).toMatchObject({ code: 0 });
    expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    await expect.poll(() => processesWith('sleep\u00003434')).toEqual([]);
    expect(await one('node.ping')).toMatchObject({ error: { code: 'paused' } });
    await companion.cli('resume');
    expect(await one('node.ping')).toMatchObject({ status: 'succeeded' });
    await system({ argv: ['true'], stdin: 'my-secret-input', env: { INPUT_TOKEN: 'my-secret-value' } });
    const audit = await companion.cli('audit', '--json');
    const lines = JSON.parse(audit.stdout) as { type: string; outcome: string; approvedBy: string | null }[];
    expect(lines.at(-1)).toMatchObject({
      type: 'system.run',
      outcome: 'succeeded',
      approvedBy: workspace.email,
    });
    expect(lines.some(({ outcome }) => outcome === 'paused')).toBe(true);
    expect(readFileSync(join(companion.home, 'audit.jsonl'), 'utf8')).not.toContain('my-secret');
  });

  test('ends running commands immediately by denying them', async () => {
    const path = join(companion.home, 'settings.json');
    const before = readFileSync(path, 'utf8');
    const settings = JSON.parse(before) as { system: object };
    for (const [number, changes] of [
      ['3451', { allowed: false }],
      ['3452', { allowed: true, programs: ['uname'] }],
    ] as const) {
      const runId = await begin([{ skillId: 'system.run', input: { argv: ['sleep', number] } }]);
      await approve(runId);
      await expect.poll(() => processesWith(`sleep\u0000${number}`).length).toBe(1);
      writeFileSync(path, JSON.stringify({ ...settings, system: { ...settings.system, ...changes } }));
      expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
      await expect.poll(() => processesWith(`sleep\u0000${number}`)).toEqual([]);
      writeFileSync(path, before);
      await companion.cli('settings', 'accept');
    }
  });

  test('gets the state of the companion from doctor and status', async () => {
    const doctor = await companion.cli('doctor', '--json');
    const checks = JSON.parse(doctor.stdout) as { check: string; state: string }[];
    expect(checks.find(({ check }) => check === 'hub')?.state).toBe('ok');
    expect(checks.find(({ check }) => check === 'shared folder')?.state).toBe('ok');
    const status = JSON.parse((await companion.cli('status', '--json')).stdout) as { running: { connected: boolean } };
    expect(status.running.connected).toBe(true);
  });
});

describe('the hub', () => {
  test('refuses commands that the node settings forbid, and commands for unknown nodes', async () => {
    await workspace.api.call('updateAutomationNode', {
      params: { id: companion.nodeId },
      body: { allowSystem: false, allowBrowser: false },
    });
    expect(await one('system.run', { argv: ['id'] })).toMatchObject({
      status: 'failed',
      error: { code: 'node_flag_off' },
    });
    expect(await one('browser.content')).toMatchObject({ status: 'failed', error: { code: 'node_flag_off' } });
    await workspace.api.call('updateAutomationNode', {
      params: { id: companion.nodeId },
      body: { allowSystem: true, allowBrowser: true },
    });
    const { nodeId } = await workspace.api.call('createAutomationNode', { body: {} });
    expect(await one('node.ping', { nodeId })).toMatchObject({ error: { code: 'not_found' } });
    const other = await hub.workspace();
    const { id } = await other.api.call('createAutomationWorkflow', {
      body: { name: 'x', stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId: companion.nodeId } }] },
    });
    const { runId } = startedRun(await other.api.call('runAutomationWorkflow', { params: { id } }));
    expect(await settledRun(other.api, runId)).toMatchObject({ status: 'failed', error: { code: 'not_found' } });
  });

  test('waits for an offline machine up to waitMs', async () => {
    await using late = await startCompanion(hub, workspace, { start: false });
    expect(await one('node.ping', { waitMs: 500 }, late)).toMatchObject({
      status: 'failed',
      error: { code: 'node_offline' },
    });
    const runId = await begin([{ skillId: 'node.ping', input: { waitMs: 60_000 } }], late);
    await late.start();
    expect(await settled(runId)).toMatchObject({ status: 'succeeded' });
  });

  test('ends the companion of a revoked node immediately', async () => {
    await using revoked = await startCompanion(hub, workspace);
    const runId = await begin([{ skillId: 'system.run', input: { argv: ['sleep', '3535'] } }], revoked);
    await approve(runId);
    await expect.poll(() => processesWith('sleep\u00003535').length).toBe(1);
    const ended = new Promise<number | null>((done) => revoked.process()?.once('exit', (code) => done(code)));
    await workspace.api.call('deleteAutomationNode', { params: { id: revoked.nodeId } });
    expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'node_revoked' } });
    expect(await ended).toBe(3);
    await expect.poll(() => processesWith('sleep\u00003535')).toEqual([]);
    // The owner can read the audit log of a revoked machine.
    const audit = JSON.parse((await revoked.cli('audit', '--json')).stdout) as { type: string }[];
    expect(audit.at(-1)).toMatchObject({
      type: 'system.run',
      outcome: 'interrupted',
      reason: 'companion_stopped',
      approvedBy: expect.any(String) as string,
    });
    expect(await runCompanionCli(['run'], { OUTRIGGER_COMPANION_HOME: revoked.home })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Pair it again') as string,
    });
  });

  test('records one result per command, only from the device of the command and only with a valid output', async () => {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const device = {
      name: '<script>alert(1)</script>',
      platform: 'linux',
      arch: 'x64',
      osVersion: 'x'.repeat(200),
      appVersion: '1',
      capabilities: ['made.up'],
    };
    const { deviceSecret } = await hub.client().call('claimAutomationNode', { body: { pairingCode, device } });
    const asDevice = hub.client(deviceSecret);
    const take = async (skillId: string, input: Record<string, unknown> = {}) => {
      const runId = await begin([{ skillId, input: { nodeId, ...input } }]);
      const { commands } = await asDevice.call('pollAutomationNodeCommands', {
        params: { id: nodeId },
        query: { wait: 25, max: 1 },
      });
      return { runId, commandId: commands[0]?.id as string };
    };
    const complete = (commandId: string, body: Record<string, unknown>) =>
      asDevice.call('completeAutomationNodeCommand', { params: { id: nodeId, commandId }, body: body as never });
    const good = { status: 'succeeded', output: { pong: true, latencyMs: 0, appVersion: '1' } };
    const first = await take('node.ping');
    expect(await complete(first.commandId, good)).toMatchObject({ status: 'succeeded', recorded: true });
    expect(
      await complete(first.commandId, { status: 'failed', error: { code: 'failed', message: 'no' } }),
    ).toMatchObject({ status: 'succeeded', recorded: false });
    expect((await settled(first.runId)).status).toBe('succeeded');
    const lying = await take('node.ping');
    await complete(lying.commandId, { status: 'succeeded', output: { pong: 'maybe' } });
    expect(await settled(lying.runId)).toMatchObject({ status: 'failed', error: { code: 'invalid_reply' } });
    const endless = await take('node.files_list');
    const entry = { name: 'x', type: 'file', bytes: 0, modifiedAt: '2026-01-01T00:00:00.000Z' };
    await complete(endless.commandId, {
      status: 'succeeded',
      output: { entries: Array.from({ length: 10_001 }, () => entry), truncated: false },
    });
    expect(await settled(endless.runId)).toMatchObject({ status: 'failed', error: { code: 'invalid_reply' } });
    const empty = await take('node.capture_screen');
    await complete(empty.commandId, {
      status: 'succeeded',
      output: { artifact: 'none.png', contentType: 'image/png', bytes: 5 },
    });
    expect(await settled(empty.runId)).toMatchObject({
      error: { code: 'invalid_reply', message: expect.stringContaining('was not sent') as string },
    });
    const foreign = await take('node.ping');
    const theirs = await send(
      hub.url,
      'POST',
      `/v1/automations/nodes/${companion.nodeId}/commands/${foreign.commandId}/result`,
      { headers: { authorization: `Bearer ${deviceSecret}` }, body: good },
    );
    expect(theirs.status).toBe(401);
    const identity = JSON.parse(readFileSync(join(companion.home, 'identity.json'), 'utf8')) as {
      deviceSecret: string;
    };
    const wrong = await send(
      hub.url,
      'POST',
      `/v1/automations/nodes/${companion.nodeId}/commands/${foreign.commandId}/result`,
      { headers: { authorization: `Bearer ${identity.deviceSecret}` }, body: good },
    );
    expect(wrong.status).toBe(404);
    await complete(foreign.commandId, good);
    expect((await send(hub.url, 'GET', '/')).text).not.toContain('<script>alert');
  });

  test('fails an acting command after its lease expires, and sends a reading command to the device again', async () => {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: { allowBrowser: true } });
    const { deviceSecret } = await hub.client().call('claimAutomationNode', {
      body: {
        pairingCode,
        device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
      },
    });
    const poll = async () =>
      (
        await hub
          .client(deviceSecret)
          .call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 25, max: 1 } })
      ).commands[0];
    const acting = await begin([{ skillId: 'browser.click', input: { nodeId, target: { text: 'x' } } }]);
    expect(await poll()).toMatchObject({ type: 'browser.click' });
    await hub.database.query(
      `update node_commands set lease_expires_at = now() - interval '1 second' where run_id = $1`,
      [acting],
    );
    expect(await settled(acting)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
    const reading = await begin([{ skillId: 'node.ping', input: { nodeId, waitMs: 60_000 } }]);
    const first = await poll();
    await hub.database.query(
      `update node_commands set lease_expires_at = now() - interval '1 second' where run_id = $1`,
      [reading],
    );
    const second = await poll();
    expect(second?.id).toBe(first?.id);
  });
});

test('the companion removes the permissions of other users from its data folder', async () => {
  chmodSync(companion.home, 0o755);
  await companion.cli('status');
  expect(execFileSync('stat', ['-c', '%a', companion.home], { encoding: 'utf8' }).trim()).toBe('700');
});
