import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-hooks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['.githooks', '.oxfmtrc.json', '.oxlintrc.json', 'tsconfig.json', 'package.json'])
    cpSync(name, join(folder, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'shared'));
  cpSync('shared/tsconfig.json', join(folder, 'shared/tsconfig.json'));
  writeFileSync(join(folder, '.gitignore'), 'node_modules\n');
});

/** Settings of the user of this machine must not apply. */
const isolated = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
const { CI: _ci, ...env }: NodeJS.ProcessEnv = { ...process.env, ...isolated };
const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
const hooksPath = () =>
  spawnSync('git', ['config', 'core.hooksPath'], { cwd: folder, env, encoding: 'utf8' }).stdout.trim();
const install = (settings: NodeJS.ProcessEnv = env) =>
  spawnSync(process.execPath, ['.githooks/install.js'], { cwd: folder, env: settings, encoding: 'utf8' });
const file = (name: string) => join(folder, 'shared', name);

describe('the installation of the hooks', () => {
  test('changes nothing outside a checkout, in CI, without git and beside other hooks', () => {
    expect(install().status).toBe(0);
    expect(existsSync(join(folder, '.git'))).toBe(false);
    git('init', '--quiet');
    expect(install({ ...env, CI: 'true' }).status).toBe(0);
    expect(install({ ...env, PATH: '' }).status).toBe(0);
    mkdirSync(join(folder, '.git/hooks'), { recursive: true });
    writeFileSync(join(folder, '.git/hooks/pre-push'), '#!/bin/sh\n');
    expect(install().status).toBe(0);
    expect(hooksPath()).toBe('');
  });

  test('works in a checkout, also when it is repeated', () => {
    git('init', '--quiet');
    for (let times = 0; times < 2; times += 1) expect(install()).toMatchObject({ status: 0, stderr: '' });
    expect(hooksPath()).toBe('.githooks');
  });
});

describe('a commit', () => {
  const commit = (...args: string[]) =>
    spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-m', 'x', ...args], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
  beforeEach(() => {
    git('init', '--quiet');
    install();
    git('add', '--all');
    commit('--no-verify');
  });

  test('formats the staged files, also with a name that needs quotes', () => {
    writeFileSync(file('größe a.ts'), 'export const   size = 1\n');
    writeFileSync(file('picture.png'), 'no text');
    git('add', '--all');
    expect(commit()).toMatchObject({ status: 0 });
    expect(git('show', 'HEAD:shared/größe a.ts')).toBe('export const size = 1;\n');
    expect(git('status', '--porcelain')).toBe('');
  });

  test('with a problem that the linter finds is refused, except with --no-verify', () => {
    writeFileSync(file('a.ts'), 'const start = async () => 1;\nstart();\n');
    git('add', '--all');
    const refused = commit();
    expect(refused.status).not.toBe(0);
    expect(refused.stdout + refused.stderr).toContain('no-floating-promises');
    expect(commit('--no-verify')).toMatchObject({ status: 0 });
  });

  test('of a part of a file leaves the other part unstaged', () => {
    writeFileSync(file('a.ts'), 'export const a = 1;\n');
    git('add', '--all');
    writeFileSync(file('a.ts'), 'export const a = 1;\nexport const b = 2;\n');
    expect(commit()).toMatchObject({ status: 0 });
    expect(git('show', 'HEAD:shared/a.ts')).toBe('export const a = 1;\n');
    expect(readFileSync(file('a.ts'), 'utf8')).toContain('b = 2');
  });
});
