import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandLine } from '../../shared/command-line.ts';
import type { ProgramRule } from '../../shared/companion/settings.ts';
import { until } from '../../test/fixtures/until.ts';
import { DataFolder } from './data-folder.ts';
import { DeviceSecrets } from './device-secrets.ts';
import type { PromptEvent } from './event-log.ts';
import type { HostPort } from './host-port.ts';
import { changeSettings } from './owner-changes.ts';
import { assertOwnerAllows } from './owner-consent.ts';
import { decideProgram, programOf, wordsOf } from './program-rules.ts';
import { Prompts } from './prompts.ts';
import { localSettings } from './settings.ts';

let folder: string;
let data: DataFolder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-word-'));
  data = new DataFolder(join(folder, 'data'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
const asked = (argv: string[]) => ({ commandId: randomUUID(), input: { argv }, approvedBy: null, origin: null });

describe('a program pattern', () => {
  const rule = (decision: 'allow' | 'deny', pattern: string): ProgramRule => ({
    id: randomUUID(),
    decision,
    pattern,
    exact: null,
    until: null,
    createdAt: '2026-01-01T00:00:00.000Z',
  });
  const settingsWith = (rules: ProgramRule[], downloads: string[] = []) =>
    localSettings.parse({ files: { downloads }, system: { allowed: true, ask: true, rules } });
  const decide = (argv: string[], ...rules: ProgramRule[]) =>
    decideProgram({ argv }, { program: programOf({ argv }), exact: null }, settingsWith(rules));

  test.each([
    ['echo', ['echo'], true],
    ['echo', ['echo', 'a'], false],
    ['echo a *', ['echo', 'a', 'b c'], true],
    ['echo a *', ['echo', 'a'], false],
    ['echo a *', ['echo', 'a', 'b', 'c'], false],
    ['echo a **', ['echo', 'a'], true],
    ['echo a **', ['echo', 'a', 'b', 'c'], true],
    ['echo a **', ['echo', 'ab'], false],
    ['echo --x=*', ['echo', '--x=1'], true],
    ['echo --x=*', ['echo', '--y=1'], false],
    ['echo "a b" "\\"*"', ['echo', 'a b', '"q'], true],
    ['echo "a b"', ['echo', 'a', 'b'], false],
    ['/usr/bin/echo **', ['echo', 'a'], true],
    // A bare name permits only the program that PATH finds, and a path only the file that it leads to.
    ['echo **', ['/usr/bin/echo', 'a'], false],
    ['/bin/echo **', ['echo', 'a'], true],
    ['/usr/*/echo **', ['echo', 'a'], true],
    ['* **', ['/usr/bin/echo', 'a'], true],
    ['echo "a', ['echo', 'a'], false],
  ])('%s and %j: %s', (pattern, argv, matches) => {
    expect(decide(argv, rule('allow', pattern))).toBe(matches ? 'allow' : 'ask');
  });

  test('that denies precedes one that allows, by any path to the program', () => {
    const link = join(folder, 'harmless');
    symlinkSync('/usr/bin/echo', link);
    for (const argv of [['echo'], ['/usr/bin/echo'], ['/bin/echo'], [link]])
      for (const refused of ['echo **', '/bin/echo **', '/usr/bin/echo', 'ech*'].map((pattern) =>
        rule('deny', pattern),
      ))
        expect(decide(argv, rule('allow', '* **'), refused)).toBe('deny');
  });

  test('that denies also denies hard links of the program, and of a program that it names by a link', () => {
    const [program, other, link] = ['program', 'other-name', 'link'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    copyFileSync('/usr/bin/echo', program);
    linkSync(program, other);
    symlinkSync(other, link);
    const refused = [program, link].map((path) => rule('deny', `${path} **`));
    for (const argv of [[program], [other], [link]])
      for (const one of refused) expect(decide(argv, rule('allow', '* **'), one)).toBe('deny');
    expect(decide(['echo'], rule('allow', '* **'), ...refused)).toBe('allow');
  });

  test('does not permit variables or input, which it does not show', () => {
    const permitted = settingsWith([rule('allow', 'echo **')]);
    const facts = { program: '/usr/bin/echo', exact: null };
    expect(decideProgram({ argv: ['echo'] }, facts, permitted)).toBe('allow');
    expect(decideProgram({ argv: ['echo'], env: { A: '1' } }, facts, permitted)).toBe('ask');
    expect(decideProgram({ argv: ['echo'], stdin: '' }, facts, permitted)).toBe('ask');
  });

  test('permits in the home folder or its own folder, and never inside or above a folder that receives downloads', () => {
    const [project, inbox] = [join(folder, 'project'), join(folder, 'project', 'data', 'inbox')];
    mkdirSync(join(inbox, 'sub'), { recursive: true });
    mkdirSync(join(project, 'src'));
    symlinkSync(inbox, join(folder, 'link'));
    const facts = { program: '/usr/bin/echo', exact: null };
    const anywhere = rule('allow', 'echo **');
    const named = { ...rule('allow', 'echo **'), folder: project };
    const decideIn = (cwd: string | undefined, one: ProgramRule, downloads = [inbox]) =>
      decideProgram({ argv: ['echo'], ...(cwd === undefined ? {} : { cwd }) }, facts, settingsWith([one], downloads));
    expect(decideIn(undefined, anywhere)).toBe('allow');
    expect(decideIn(homedir(), anywhere)).toBe('allow');
    expect(decideIn(undefined, anywhere, [homedir()])).toBe('ask');
    for (const cwd of [project, '/', join(folder, 'none')]) expect(decideIn(cwd, anywhere), cwd).toBe('ask');
    expect(decideIn(undefined, anywhere, [join(homedir(), 'Downloads')])).toBe('ask');
    for (const cwd of [project, join(project, 'src')]) expect(decideIn(cwd, named, []), cwd).toBe('allow');
    expect(decideIn(join(project, 'src'), named)).toBe('allow');
    for (const cwd of [
      undefined,
      folder,
      project,
      join(project, 'data'),
      inbox,
      join(inbox, 'sub'),
      join(folder, 'link'),
    ])
      expect(decideIn(cwd, named), cwd).toBe('ask');
    expect(decideIn(project, rule('deny', 'echo **'))).toBe('deny');
  });

  test('permits nothing while a link replaces its folder', () => {
    const real = realpathSync(folder);
    const [project, evil] = [join(real, 'project'), join(real, 'evil')];
    for (const each of [project, evil]) mkdirSync(each);
    const named = { ...rule('allow', 'echo **'), folder: project };
    const decideIn = (cwd: string) =>
      decideProgram({ argv: ['echo'], cwd }, { program: '/usr/bin/echo', exact: null }, settingsWith([named]));
    expect(decideIn(project)).toBe('allow');
    renameSync(project, `${project}.real`);
    symlinkSync(evil, project);
    for (const cwd of [project, evil]) expect(decideIn(cwd), cwd).toBe('ask');
    rmSync(project);
    renameSync(`${project}.real`, project);
    expect(decideIn(project)).toBe('allow');
  });

  test('keeps the real path of its folder, and has no folder when it denies', async () => {
    const add = (decision: 'allow' | 'deny', path: string) =>
      changeSettings(data, { change: 'add_rule', decision, pattern: 'echo', folder: path });
    const link = join(folder, 'link');
    symlinkSync(folder, link);
    expect((await add('allow', link)).system.rules).toMatchObject([{ folder: realpathSync(folder) }]);
    await expect(add('allow', join(folder, 'none'))).rejects.toThrow('is not a folder');
    await expect(add('deny', folder)).rejects.toThrow('holds in every folder');
  });

  test('that permits in another folder is the reason in the prompt', async () => {
    await changeSettings(data, { change: 'ask', ask: true });
    await changeSettings(data, { change: 'add_rule', decision: 'allow', pattern: 'echo' });
    const prompts = new Prompts(20_000, () => undefined);
    const command = { ...asked(['echo']), input: { argv: ['echo'], cwd: folder } };
    const allowed = assertOwnerAllows(command, { folder: data, prompts, signal: never, onAnswer: () => undefined });
    await expect.poll(() => prompts.waiting).toMatchObject([{ reason: 'other_folder', cwd: realpathSync(folder) }]);
    prompts.answer(prompts.waiting[0]?.id as string, 'once');
    await allowed;
  });

  test('does not match paths that resolve differently for another process', () => {
    const link = join(folder, 'way');
    symlinkSync('/proc/self/cwd', link);
    for (const name of ['/proc/self/exe', `${link}/bin/echo`, '/usr/bin/../bin/echo', '/dev/fd/3'])
      expect(() => programOf({ argv: [name] })).toThrow(/argv\[0\]|no program/);
  });

  test('of a command line splits into the same words', () => {
    const argv = ['sh', '-c', 'echo "a b"; cat', '', '\\', "it's", 'ü'];
    expect(wordsOf(commandLine(argv))).toEqual(argv);
  });
});

describe('the consent of the owner', () => {
  test('is denied when no answer comes in time', async () => {
    await changeSettings(data, { change: 'ask', ask: true });
    const events: PromptEvent[] = [];
    const prompts = new Prompts(50, (event) => events.push(event));
    await expect(
      assertOwnerAllows(asked(['echo']), { folder: data, prompts, signal: never, onAnswer: () => undefined }),
    ).rejects.toThrow(
      /did not answer within \d+ s\. Run it again, .*outrigger-companion prompts .*outrigger-companion answer .*outrigger-companion ask off$/,
    );
    expect(prompts.waiting).toEqual([]);
    expect(events).toMatchObject([
      { event: 'prompt', command: 'echo', runId: null },
      { event: 'prompt_ended', command: 'echo', outcome: 'not_answered' },
    ]);
  });

  test('is requested only for a limited number and size of prompts', async () => {
    const prompts = new Prompts(20_000, () => undefined);
    const over = new AbortController();
    const ask = (characters: number) =>
      prompts.ask(
        {
          commandId: randomUUID(),
          program: '/bin/echo',
          programSha256: 'a'.repeat(64),
          argv: ['echo'],
          cwd: '/',
          env: { A: '\u0001'.repeat(characters / 6) },
          stdin: null,
          timeoutMs: 1_000,
          approvedBy: null,
          origin: null,
          reason: 'no_rule',
        },
        { key: randomUUID(), signal: over.signal },
      );
    await expect(ask(15_000_000)).rejects.toThrow('too many to review');
    const first = ask(5_000_000);
    await expect(ask(5_000_000)).rejects.toThrow('wait for an answer');
    expect(prompts.waiting).toHaveLength(1);
    over.abort(new Error('over'));
    await expect(first).rejects.toThrow('over');
  });

  test('that lasts applies to this version of a program, not to a replacement, also while the prompt is open', async () => {
    const program = join(folder, 'tool');
    copyFileSync('/bin/echo', program);
    chmodSync(program, 0o755);
    data.openSettingsStore({ onEdit: () => undefined });
    await changeSettings(data, { change: 'ask', ask: true });
    const prompts = new Prompts(20_000, () => undefined);
    const ask = () =>
      assertOwnerAllows(asked([program, 'x']), { folder: data, prompts, signal: never, onAnswer: () => undefined });
    const next = async () => {
      await until(
        () => prompts.waiting.length === 1,
        () => 'no prompt is open',
      );
      return prompts.waiting[0]!;
    };
    const first = ask();
    prompts.answer((await next()).id, 'always');
    await first;
    await ask();
    writeFileSync(program, '#!/bin/sh\necho evil\n', { mode: 0o755 });
    const changed = ask();
    const prompt = await next();
    expect(prompt.reason).toBe('program_changed');
    writeFileSync(program, '#!/bin/sh\necho worse\n', { mode: 0o755 });
    prompts.answer(prompt.id, 'once');
    await expect(changed).rejects.toThrow('changed while the owner');
  });
});

describe('the device secret', () => {
  const sealing: HostPort = {
    offer: { keyStore: 'the test key store', captures: [] },
    call: async (method, params) =>
      (method === 'seal'
        ? { sealed: Buffer.from((params as { text: string }).text).toString('base64') }
        : { text: Buffer.from((params as { sealed: string }).sealed, 'base64').toString() }) as never,
  };
  const pairing = {
    nodeId: randomUUID(),
    deviceSecret: 'the-secret',
    hub: 'http://127.0.0.1:1',
    pairedAt: '2026-01-01T00:00:00.000Z',
  };

  test('moves from the file to the key store if there is one, and is then read only from there', async () => {
    data.writePairing(pairing);
    expect(await new DeviceSecrets(sealing).open(data, pairing, never)).toEqual(pairing);
    const kept = data.readPairing()!;
    expect(JSON.stringify(kept)).not.toContain('the-secret');
    expect(await new DeviceSecrets(sealing).open(data, kept, never)).toEqual(pairing);
    await expect(new DeviceSecrets(null).open(data, kept, never)).rejects.toThrow('start the app');
  });

  test('stays in the file when the key store fails, and is stored there only with the consent of the owner', async () => {
    data.writePairing(pairing);
    const failing: HostPort = {
      ...sealing,
      call: async () => {
        throw new Error('locked');
      },
    };
    expect(await new DeviceSecrets(failing).open(data, pairing, never)).toEqual(pairing);
    expect(data.readPairing()).toEqual(pairing);
    data.removePairing();
    await expect(new DeviceSecrets(null).keep(data, pairing, false)).rejects.toThrow('secretInFile');
    expect(data.readPairing()).toBeNull();
    await new DeviceSecrets(null).keep(data, pairing, true);
    expect(data.readPairing()).toEqual(pairing);
  });
});
