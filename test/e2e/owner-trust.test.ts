import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ControlClient } from '../../node-agent/runtime/control/client.ts';
import { DataFolder } from '../../node-agent/runtime/data-folder.ts';
import type { AuditVerdict, Prompt } from '../../shared/companion/state.ts';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { mountSmallDisk } from '../fixtures/small-disk.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const settled = (id: string): Promise<Run> => settledRun(workspace.api, id);

/** Starts a workflow with one step. A step that runs a program is approved at the hub. */
async function begin(companion: TestCompanion, skillId: string, input: Record<string, unknown> = {}): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'trust',
      stepsJson: [{ type: 'skill', skillId, input: { nodeId: companion.nodeId, ...input } as never }],
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  if (skillId !== 'system.run') return runId;
  expect((await settled(runId)).status).toBe('waiting_approval');
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
  await workspace.session.call('decideAutomationApproval', {
    params: { id: data[0]?.id as string },
    body: { decision: 'approved' },
  });
  return runId;
}
const run = async (companion: TestCompanion, skillId: string, input: Record<string, unknown> = {}) =>
  settled(await begin(companion, skillId, input));
const json = async <Value>(companion: TestCompanion, ...args: string[]): Promise<Value> =>
  JSON.parse((await companion.cli(...args, '--json')).stdout) as Value;
const statusOf = (companion: TestCompanion) =>
  json<{ settings: { paused: boolean; capture: { camera: boolean }; system: { rules: object[] } } }>(
    companion,
    'status',
  );

/** Runs a command at a terminal, types an answer, and returns what the terminal shows. */
function atTerminal({ home }: TestCompanion, args: string[], answer: string): string {
  const command = [process.execPath, resolve('node-agent/runtime/cli.ts'), '--data-folder', home, ...args];
  const { stdout } = spawnSync('script', ['-qec', command.map((word) => `'${word}'`).join(' '), '/dev/null'], {
    input: `${answer}\n`,
    encoding: 'utf8',
    timeout: 120_000,
  });
  return stdout;
}

const disk = mountSmallDisk();
describe.skipIf(disk === null)('a full disk under the data folder (needs the right to mount a tmpfs)', () => {
  const folder = disk as string;
  const filler = join(folder, 'filler');
  let companion: TestCompanion;
  const fill = () => {
    // Fills the disk completely.
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(filler, Buffer.alloc(bavail * bsize), { flag: 'a' });
    expect(statfsSync(folder).bavail).toBe(0);
  };
  beforeAll(async () => {
    companion = await startCompanion(hub, workspace, { allow: ['system'], folder });
    writeFileSync(join(companion.shared, 'note.txt'), 'a note');
  });
  afterAll(async () => {
    await companion.stop('SIGKILL');
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });
  const read = () => run(companion, 'node.files_read', { path: join(companion.shared, 'note.txt') });
  /** The number of logged reads. The full disk may have stored only the entry that is written before a read. */
  const reads = async () =>
    new Set(
      (await json<{ commandId: string; type: string; outcome: string }[]>(companion, 'audit'))
        .filter(({ type, outcome }) => type === 'node.files_read' && ['begun', 'succeeded'].includes(outcome))
        .map(({ commandId }) => commandId),
    ).size;

  test('refuses commands that cannot be logged, and doctor shows the reason', async () => {
    expect((await read()).status).toBe('succeeded');
    fill();
    let done = 1;
    for (let round = 0; round < 8; round += 1) {
      const { status, error } = await read();
      if (status === 'succeeded') done += 1;
      else expect(error?.code).toBe('audit_unavailable');
    }
    expect(await reads()).toBe(done);
    const checks = await json<{ check: string; state: string; detail: string }[]>(companion, 'doctor');
    expect(checks.find(({ check }) => check === 'disk')).toMatchObject({
      state: 'fail',
      detail: expect.stringContaining('full') as string,
    });
    rmSync(filler);
    expect((await read()).status).toBe('succeeded');
    expect(await reads()).toBe(done + 1);
    expect(await json<AuditVerdict>(companion, 'audit', 'verify')).toMatchObject({ ok: true });
  });

  test('does not affect pause, deny and unshare: they apply immediately and after a kill', async () => {
    await companion.cli('allow', 'camera');
    fill();
    for (const args of [['deny', 'system'], ['unshare', companion.shared], ['pause']])
      expect(await companion.cli(...args)).toMatchObject({ code: 0 });
    expect((await run(companion, 'node.ping')).error?.code).toBe('paused');
    await companion.stop('SIGKILL');
    expect((await statusOf(companion)).settings).toMatchObject({ paused: true, sharedFolders: [] });
    // Denying also works without a running companion.
    expect(await companion.cli('deny', 'files')).toMatchObject({ code: 0 });
    expect((await companion.cli('run')).stderr).toContain('no space left');
    rmSync(filler);
    await companion.start();
    expect((await run(companion, 'node.ping')).error?.code).toBe('paused');
    await companion.cli('resume');
    // Permissions from before the full disk are kept.
    const { settings, running } = await json<{ settings: object; running: { edited: object | null } }>(
      companion,
      'status',
    );
    expect(settings).toMatchObject({
      files: { allowed: false },
      system: { allowed: false },
      capture: { camera: true },
    });
    expect(running.edited).toBeNull();
  });
});

test('an approved program cannot change permissions, and a log that it cuts is reported', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
  const cli = resolve('node-agent/runtime/cli.ts');
  // The shell ends with exit code 0, so that the step succeeds with its output.
  const attempt = async (argv: string[]) =>
    (await run(companion, 'system.run', { argv: ['sh', '-c', '"$@"; echo "exit $?"', 'sh', ...argv] }))
      .stepsResultJson[0]?.output as { stdout: string; stderr: string } | undefined;
  for (let round = 0; round < 5; round += 1) await run(companion, 'system.run', { argv: ['true'] });

  for (const args of [['allow', 'camera'], ['rules', 'allow', '**'], ['settings', 'accept'], ['prompts']]) {
    const output = await attempt([process.execPath, cli, '--data-folder', companion.home, ...args]);
    expect(output).toMatchObject({
      stdout: 'exit 1\n',
      stderr: expect.stringContaining('A program that a workflow started') as string,
    });
  }
  // The program leaves its session, process group, environment and parent process.
  const left = join(companion.shared, 'left.txt');
  await attempt([
    'sh',
    '-c',
    `env -i PATH="$PATH" OUTRIGGER_COMPANION_HOME='${companion.home}' setsid sh -c '(${process.execPath} ${cli} allow camera >${left} 2>&1; echo done >>${left})' & while ! grep -q done ${left} 2>/dev/null; do sleep 0.1; done`,
  ]);
  expect(readFileSync(left, 'utf8')).toContain('A program that a workflow started');
  // The program writes the settings file directly.
  const loose = JSON.stringify({ system: { allowed: true }, capture: { camera: true }, sharedFolders: ['/'] });
  await attempt(['sh', '-c', `printf %s '${loose}' > '${join(companion.home, 'settings.json')}'`]);
  const { settings } = await statusOf(companion);
  expect(settings).toMatchObject({ capture: { camera: false }, sharedFolders: [], system: { rules: [] } });
  expect(await json<AuditVerdict>(companion, 'audit', 'verify')).toMatchObject({ ok: true });

  const log = join(companion.home, 'audit.jsonl');
  await attempt(['sh', '-c', `head -n 8 '${log}' > '${log}.cut'; cat '${log}.cut' > '${log}'`]);
  const verdict = await companion.cli('audit', 'verify', '--json');
  expect(verdict.code).toBe(1);
  expect(JSON.parse(verdict.stdout)).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/^Entries 9 to \d+ are missing/) as string,
  });
  expect((await companion.cli('status')).stdout).toContain('Entries 9 to');
  expect((await companion.cli('doctor')).stdout).toMatch(/fail +log .*Entries 9 to/);
});

describe('an approved program that stops the companion, changes its files and kills it', () => {
  /** Runs a script as an approved program. The script ends the companion, and the companion starts again. */
  async function attack(companion: TestCompanion, script: string): Promise<void> {
    const ended = new Promise((done) => companion.process()?.once('exit', done));
    const command = `kill -STOP $PPID; ${script}; kill -KILL $PPID`;
    await begin(companion, 'system.run', { argv: ['sh', '-c', command] });
    await ended;
    await companion.start();
  }
  const loosen = (companion: TestCompanion) => {
    const settings = { sharedFolders: ['/etc'], system: { allowed: true, ask: false }, capture: { screen: true } };
    return `printf %s '${JSON.stringify(settings)}' > '${join(companion.home, 'settings.json')}'`;
  };
  interface Status {
    settings: { sharedFolders: string[]; capture: { screen: boolean }; system: { allowed: boolean; ask: boolean } };
    running: { edited: { needsConsent: boolean; detail: string; changes: string[] } | null };
  }

  test('gains no permission: the restarted companion waits for the consent of the owner', async () => {
    await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
    await attack(companion, loosen(companion));
    const { settings, running } = await json<Status>(companion, 'status');
    expect(settings).toMatchObject({ sharedFolders: [], capture: { screen: false } });
    expect(running.edited).toMatchObject({
      needsConsent: true,
      changes: expect.arrayContaining(['capture.screen: false → true']) as string[],
    });
    expect((await run(companion, 'node.files_list', { path: '/etc' })).error?.code).toBe('outside_shared_folders');
    expect(atTerminal(companion, ['settings', 'accept'], 'no')).toMatch(
      /capture\.screen: false → true[^]*Nothing was changed/,
    );
    expect((await json<Status>(companion, 'status')).settings.capture.screen).toBe(false);
    expect(atTerminal(companion, ['settings', 'accept'], 'yes')).toContain('settings.json is in force');
    expect((await json<Status>(companion, 'status')).settings.capture.screen).toBe(true);
  });

  test('gains no permission by removing the log and the settings: everything is denied, and the hub shows the cut', async () => {
    await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
    const node = async () =>
      (await workspace.api.call('listAutomationNodes')).data.find(({ id }) => id === companion.nodeId);
    // The hub has a record of the log before it sends the first command.
    await attack(
      companion,
      `rm -f '${companion.home}'/audit.jsonl* '${companion.home}'/settings.*; ${loosen(companion)}`,
    );
    // No command begins before the log is compared with the record of the hub.
    expect((await run(companion, 'node.files_list', { path: '/etc' })).error?.code).toBe('denied_by_device');
    const { settings, running } = await json<Status>(companion, 'status');
    expect(settings).toMatchObject({
      sharedFolders: [],
      capture: { screen: false },
      system: { allowed: false, ask: true },
    });
    expect(running.edited).toMatchObject({
      needsConsent: true,
      detail: expect.stringContaining('removed the log') as string,
    });
    await expect.poll(async () => (await node())?.audit?.brokenAt ?? null).not.toBeNull();
    // The hub now accepts the shorter log, but the settings still wait for the owner.
    await companion.stop('SIGKILL');
    await companion.start();
    expect((await json<Status>(companion, 'status')).settings.system.allowed).toBe(false);
  });
});

test('SIGUSR1 from an approved program does not open the debugger of the companion', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
  const pid = String(companion.process()?.pid);
  expect(await run(companion, 'system.run', { argv: ['kill', '-USR1', pid] })).toMatchObject({ status: 'succeeded' });
  expect((await run(companion, 'node.ping')).status).toBe('succeeded');
  expect(companion.log()).not.toContain('Debugger listening');
  expect(companion.process()?.exitCode).toBeNull();
});

test('a log that is cut while the companion is stopped is detected by the hub, and the hub shows it', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
  const node = async () =>
    (await workspace.api.call('listAutomationNodes')).data.find(({ id }) => id === companion.nodeId);
  for (let round = 0; round < 4; round += 1) await run(companion, 'node.files_list');
  const entries = async () => (await json<AuditVerdict>(companion, 'audit', 'verify')).head?.count;
  const count = await entries();
  await companion.cli('pause');
  await expect.poll(async () => (await node())?.audit?.entries).toBeGreaterThanOrEqual(count as number);
  expect((await node())?.audit?.brokenAt).toBeNull();
  await companion.stop();
  const log = join(companion.home, 'audit.jsonl');
  writeFileSync(log, readFileSync(log, 'utf8').split('\n').slice(0, 4).join('\n'));
  await companion.start();
  await expect.poll(async () => (await companion.cli('audit', 'verify')).code).toBe(1);
  await companion.cli('resume');
  await expect.poll(async () => (await node())?.audit?.brokenAt ?? null).not.toBeNull();
});

test('setting the log aside needs no consent at the next start, also before a heartbeat and while no companion runs', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
  const node = async () =>
    (await workspace.api.call('listAutomationNodes')).data.find(({ id }) => id === companion.nodeId);
  await expect.poll(async () => (await node())?.audit?.entries).toBeGreaterThan(0);
  await companion.cli('pause');
  await companion.cli('audit', 'set-aside');
  await companion.stop('SIGKILL');
  await companion.cli('audit', 'set-aside');
  await companion.cli('resume');
  await companion.start();
  // The companion begins no command before it has compared the log with the record of the hub.
  expect((await run(companion, 'system.run', { argv: ['true'] })).status).toBe('succeeded');
  expect((await node())?.audit?.brokenAt).toBeNull();
});

test('a companion that is killed during a prompt reports and logs that the command did not begin', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: [] });
  await companion.cli('allow', 'system');
  const file = join(companion.shared, 'never');
  const runId = await begin(companion, 'system.run', { argv: ['touch', file] });
  await expect.poll(() => json<Prompt[]>(companion, 'prompts')).toHaveLength(1);
  await companion.stop('SIGKILL');
  await companion.start();
  expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'not_begun' } });
  expect(await json<object[]>(companion, 'audit', '--limit', '1')).toMatchObject([
    { type: 'system.run', outcome: 'not_begun', began: false, summary: expect.stringContaining(file) as string },
  ]);
  expect(readdirSync(companion.shared)).toEqual([]);
});

test('no command begins if the log cannot be written', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
  rmSync(join(companion.home, 'audit.jsonl'), { force: true });
  mkdirSync(join(companion.home, 'audit.jsonl'));
  const file = join(companion.shared, 'never');
  expect((await run(companion, 'system.run', { argv: ['touch', file] })).error?.code).toBe('audit_unavailable');
  expect((await run(companion, 'node.files_list')).error?.code).toBe('audit_unavailable');
  expect(readdirSync(companion.shared)).toEqual([]);
});

test('sharing a folder excludes hidden files and key stores, and sharing a home folder needs a confirmation', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: [] });
  mkdirSync(join(companion.shared, '.ssh'));
  writeFileSync(join(companion.shared, '.ssh', 'id_rsa'), 'a key');
  writeFileSync(join(companion.shared, 'open.txt'), 'open');
  symlinkSync('/etc/hostname-that-is-not-there', join(companion.shared, 'missing'));
  symlinkSync('/etc/passwd', join(companion.shared, 'there'));
  const key = { path: join(companion.shared, '.ssh', 'id_rsa') };
  expect((await run(companion, 'node.files_read', key)).error).toMatchObject({
    code: 'protected_path',
    message: expect.stringContaining('--include-hidden') as string,
  });
  const listed = await run(companion, 'node.files_list', { path: companion.shared });
  expect(JSON.stringify(listed.stepsResultJson[0]?.output)).not.toContain('.ssh');
  for (const name of ['missing', 'there'])
    expect((await run(companion, 'node.files_read', { path: join(companion.shared, name) })).error?.code).toBe(
      'outside_shared_folders',
    );
  expect(await companion.cli('share', homedir())).toMatchObject({ code: 2 });
  expect((await statusOf(companion)).settings).toMatchObject({ sharedFolders: [companion.shared] });
  expect(await companion.cli('share', companion.shared, '--include-hidden')).toMatchObject({ code: 0 });
  expect((await run(companion, 'node.files_read', key)).status).toBe('succeeded');
});

test('sharing the root folder, also by a link to it, needs a confirmation, and never shares the data folder', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: [] });
  const link = join(companion.shared, 'everything');
  symlinkSync('/', link);
  const sharedFolders = async () =>
    (await json<{ settings: { sharedFolders: string[] } }>(companion, 'status')).settings.sharedFolders;
  const meaning = expect.stringContaining('all files of this machine') as string;
  for (const path of ['/', '//', link])
    expect(await companion.cli('share', path)).toMatchObject({ code: 2, stderr: meaning });
  expect(atTerminal(companion, ['share', '/'], 'y')).toMatch(/all files of this machine[^]*Nothing was changed\./);
  // Whichever program sends the change: the companion refuses it without the confirmation.
  using client = (await ControlClient.open(new DataFolder(companion.home))) as ControlClient;
  for (const path of ['/', link])
    await expect(client.call('change', { change: 'share', path })).rejects.toThrow(
      / contains all of your files, .* --yes$/,
    );
  expect(await sharedFolders()).toEqual([companion.shared]);
  const read = (path: string) => run(companion, 'node.files_read', { path });
  expect((await read('/etc/passwd')).error?.code).toBe('outside_shared_folders');
  expect(atTerminal(companion, ['share', '/'], 'yes')).toContain('Workflows may list and read / now.');
  expect(await sharedFolders()).toEqual([companion.shared, '/']);
  expect((await read('/etc/passwd')).status).toBe('succeeded');
  expect((await read(join(companion.home, 'settings.json'))).error?.code).toBe('outside_shared_folders');
});

test('a shared folder excludes key stores by their names, also where they are not hidden', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: [] });
  const keyStores = ['id_rsa', 'ID_ED25519', 'server.pem', 'Server.PEM', 'passwords.kdbx', 'tls.key', 'mail.p12'];
  const open = ['id_card.txt', 'keys.txt', 'pem.txt'];
  for (const name of [...keyStores, ...open]) writeFileSync(join(companion.shared, name), name);
  mkdirSync(join(companion.shared, 'Keychains'));
  writeFileSync(join(companion.shared, 'Keychains', 'login'), 'a key');
  const read = (name: string) => run(companion, 'node.files_read', { path: join(companion.shared, name) });
  const listed = async () => {
    const { stepsResultJson } = await run(companion, 'node.files_list', { path: companion.shared });
    const { entries } = (stepsResultJson[0]?.output ?? {}) as unknown as { entries: { name: string }[] };
    return entries.map(({ name }) => name).toSorted();
  };
  expect(await listed()).toEqual(open);
  for (const name of [...keyStores, join('Keychains', 'login')])
    expect((await read(name)).error, name).toMatchObject({ code: 'protected_path' });
  for (const name of open) expect((await read(name)).status, name).toBe('succeeded');
  expect(await companion.cli('share', companion.shared, '--include-hidden')).toMatchObject({ code: 0 });
  expect(await listed()).toEqual([...keyStores, ...open, 'Keychains'].toSorted());
  for (const name of keyStores) expect((await read(name)).status, name).toBe('succeeded');
});

test('what the owner shares, allows, denies and pauses is kept when the companion is killed', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: ['system'] });
  writeFileSync(join(companion.shared, '.hidden'), 'hidden');
  const read = () => run(companion, 'node.files_read', { path: join(companion.shared, '.hidden') });
  const settings = async () => {
    const { settings: found, running } = await json<{ settings: object; running: { edited: object | null } | null }>(
      companion,
      'status',
    );
    expect(running?.edited ?? null).toBeNull();
    return found;
  };
  for (const args of [
    ['share', companion.shared, '--include-hidden'],
    ['allow', 'camera', '--for', '8h'],
    ['deny', 'system'],
    ['rules', 'deny', 'rm **'],
    ['variables', 'allow', 'API_TOKEN'],
    ['pause'],
  ])
    expect(await companion.cli(...args), args.join(' ')).toMatchObject({ code: 0 });
  const before = await settings();
  expect(before).toMatchObject({
    paused: true,
    sharedFolders: [companion.shared],
    files: { hidden: [companion.shared] },
    capture: { camera: true },
    until: { camera: expect.any(String) as string },
    system: { allowed: false, rules: [{ decision: 'deny', pattern: 'rm **' }], variables: ['API_TOKEN'] },
  });
  await companion.stop('SIGKILL');
  expect(await settings()).toEqual(before);
  await companion.start();
  expect(await settings()).toEqual(before);
  expect((await read()).error?.code).toBe('paused');
  expect(await companion.cli('resume')).toMatchObject({ code: 0 });
  await companion.stop('SIGKILL');
  await companion.start();
  expect(await settings()).toEqual({ ...before, paused: false });
  expect((await read()).status).toBe('succeeded');
  expect((await run(companion, 'system.run', { argv: ['true'] })).error?.code).toBe('denied_by_device');
});

test('turning off prompts requires a confirmation that explains the consequence', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: [] });
  const system = async () =>
    (await json<{ settings: { system: { allowed: boolean; ask: boolean } } }>(companion, 'status')).settings.system;
  const meaning = expect.stringContaining(
    'Everyone who can approve at the hub can run any program on this machine.',
  ) as string;
  expect(await companion.cli('allow', 'system', '--no-ask')).toMatchObject({ code: 2, stderr: meaning });
  expect(await system()).toMatchObject({ allowed: false });
  await companion.cli('allow', 'system');
  expect(await companion.cli('ask', 'off')).toMatchObject({ code: 2, stderr: meaning });
  expect(await system()).toMatchObject({ allowed: true, ask: true });
  expect(await companion.cli('allow', 'system', '--no-ask', '--yes')).toMatchObject({ code: 0 });
  expect(await system()).toMatchObject({ allowed: true, ask: false });
});

test('allowing programs turns prompts on again after `ask off`, unless the owner confirms --no-ask again', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: [] });
  const system = async () =>
    (await json<{ settings: { system: { allowed: boolean; ask: boolean } } }>(companion, 'status')).settings.system;
  await companion.cli('allow', 'system');
  expect(await companion.cli('ask', 'off', '--yes')).toMatchObject({
    code: 0,
    stdout: 'You are not asked any more.\n',
  });
  expect(await system()).toMatchObject({ allowed: true, ask: false });
  expect((await run(companion, 'system.run', { argv: ['true'] })).status).toBe('succeeded');
  const withPrompts = expect.stringContaining('You are asked before each program that no rule decides') as string;
  for (const options of [[], ['--for', '1h'], ['--ask'], ['--yes']]) {
    await companion.cli('ask', 'off', '--yes');
    expect(await companion.cli('allow', 'system', ...options)).toMatchObject({ code: 0, stdout: withPrompts });
    expect(await system()).toMatchObject({ allowed: true, ask: true });
  }
  const runId = await begin(companion, 'system.run', { argv: ['true'] });
  await expect.poll(() => json<Prompt[]>(companion, 'prompts')).toHaveLength(1);
  const [prompt] = await json<Prompt[]>(companion, 'prompts');
  await companion.cli('answer', prompt?.id as string, 'deny');
  expect((await settled(runId)).error?.code).toBe('denied_by_device');
  await companion.cli('allow', 'system', '--no-ask', '--yes');
  expect(await system()).toMatchObject({ allowed: true, ask: false });
});

test('prompts and the log contain the origin of a command, and prompts warn of a shell', async () => {
  await using companion = await startCompanion(hub, workspace, { allow: [] });
  await companion.cli('allow', 'system');
  const runId = await begin(companion, 'system.run', { argv: ['sh', '-c', 'echo shown'] });
  await expect.poll(() => json<Prompt[]>(companion, 'prompts')).toHaveLength(1);
  const [prompt] = await json<Prompt[]>(companion, 'prompts');
  const origin = {
    workspace: { id: expect.any(String) as string, name: expect.stringMatching(/./) as string },
    workflow: { id: expect.any(String) as string, name: 'trust' },
    run: { id: runId, step: { index: 0 } },
    startedBy: { kind: 'key', name: expect.stringMatching(/./) as string },
    approvedBy: { name: expect.stringMatching(/./) as string },
  };
  expect(prompt?.origin).toMatchObject(origin);
  const { stdout } = await companion.cli('prompts');
  expect(stdout).toContain('WARNING    sh runs code that is in its arguments: read all of it.');
  for (const words of [
    `workspace   ${prompt?.origin?.workspace.name}`,
    'workflow    trust',
    `run         ${runId}, step 1`,
    `started by  ${prompt?.origin?.startedBy?.name} (API key)`,
    `approved by ${prompt?.origin?.approvedBy?.name}`,
  ])
    expect(stdout).toContain(words);
  await companion.cli('answer', prompt?.id as string, 'once');
  expect((await settled(runId)).status).toBe('succeeded');
  const log = await json<{ type: string; outcome: string }[]>(companion, 'audit');
  expect(log.find(({ type, outcome }) => type === 'system.run' && outcome === 'succeeded')).toMatchObject({ origin });
});
