import { execFile, execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const project = resolve('.');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-launcher-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** The PATH of this machine without the programs of the project. */
const systemPath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((path) => !path.includes('node_modules'))
  .join(delimiter);

function run(
  program: string,
  args: string[],
  { cwd = folder, input = '', path = systemPath }: { cwd?: string; input?: string; path?: string } = {},
): Promise<Outcome> {
  return new Promise((done) => {
    const child = execFile(
      program,
      args,
      {
        cwd,
        env: {
          PATH: path,
          HOME: folder,
          OUTRIGGER_HOME: join(folder, 'home'),
          OUTRIGGER_COMPANION_HOME: join(folder, 'companion'),
        },
        timeout: 55_000,
      },
      (error, stdout, stderr) => {
        done({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      },
    );
    child.stdin?.end(input);
  });
}

/** Node versions for the test: the one of the system, and one that is too old. */
function nodes(): [string, string, string[]][] {
  const fake = join(folder, 'older-node.cjs');
  writeFileSync(
    fake,
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } }); delete process.execve;",
  );
  const found: [string, string, string[]][] = [
    ['an older Node', process.execPath, ['--require', fake]],
    ['the Node of the project', process.execPath, []],
  ];
  const system = systemPath
    .split(delimiter)
    .map((path) => join(path, 'node'))
    .find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
  if (system !== undefined) found.push(['the Node of the system', system, []]);
  return found;
}

describe('the commands of the package', () => {
  test('run under any Node version, from any folder, and through a symbolic link', async () => {
    for (const [name, node, flags] of nodes()) {
      const link = join(folder, `link to ${name}`);
      symlinkSync(join(project, 'hub/outrigger.js'), link);
      expect(await run(node, [...flags, link, '--help']), name).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Usage: outrigger') as string,
        stderr: '',
      });
      expect(await run(node, [...flags, join(project, 'hub/outrigger.js'), 'start', '--version']), name).toMatchObject({
        code: 0,
        stdout: '0.1.0\n',
        stderr: '',
      });
      expect(
        await run(node, [...flags, join(project, 'node-agent/outrigger-companion.js'), '--version']),
        name,
      ).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' });
    }
  });

  test('pass input, arguments and exit codes through', async () => {
    const [, node, flags] = nodes()[0] as [string, string, string[]];
    const echo = join(folder, 'echo.ts');
    writeFileSync(
      echo,
      "const texts: string[] = []; for await (const chunk of process.stdin) texts.push(String(chunk)); process.stdout.write(JSON.stringify([process.argv.slice(2), texts.join('')])); process.exit(7);",
    );
    const starter = join(folder, 'starter.mjs');
    writeFileSync(
      starter,
      `import { launch } from ${JSON.stringify(join(project, 'shared/launcher/launch.js'))}; await launch(new URL('echo.ts', import.meta.url), process.argv.slice(2), { threads: true });`,
    );
    for (const before of [flags, []]) {
      expect(await run(node, [...before, starter, 'a b', '--c', "d'e"], { input: 'typed' })).toEqual({
        code: 7,
        stdout: JSON.stringify([['a b', '--c', "d'e"], 'typed']),
        stderr: '',
      });
    }
  });

  test('are complete in the packed package, and run from it through npx in another folder', async () => {
    const packed = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
        cwd: project,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as { filename: string; files: { path: string }[] }[];
    const { filename, files } = packed[0] as { filename: string; files: { path: string }[] };
    expect(
      files.map(({ path }) => path).filter((path) => path.startsWith('test/') || path.endsWith('.test.ts')),
    ).toEqual([]);
    const elsewhere = join(folder, 'elsewhere');
    const modules = join(elsewhere, 'node_modules');
    mkdirSync(join(modules, '.bin'), { recursive: true });
    execFileSync('tar', ['-xzf', join(folder, filename), '-C', modules]);
    execFileSync('mv', [join(modules, 'package'), join(modules, 'outrigger')]);
    // The dependencies that npm would install.
    for (const name of readdirSync(join(project, 'node_modules')).filter((entry) => !entry.startsWith('.')))
      symlinkSync(join(project, 'node_modules', name), join(modules, name));
    const { bin } = JSON.parse(readFileSync(join(modules, 'outrigger/package.json'), 'utf8')) as {
      bin: Record<string, string>;
    };
    for (const [name, path] of Object.entries(bin)) symlinkSync(`../outrigger/${path}`, join(modules, '.bin', name));
    writeFileSync(join(elsewhere, 'package.json'), '{ "name": "elsewhere", "private": true }');
    for (const [args, text] of [
      [['outrigger', '--help'], 'Usage: outrigger'],
      [['outrigger', 'start', '--help'], 'Starts the hub'],
      [['outrigger-companion', 'status'], 'paired     no'],
    ] as const) {
      expect(await run('npx', ['--no-install', ...args], { cwd: elsewhere })).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(text) as string,
      });
    }
    // The compile cache is in a folder that other users cannot write to.
    expect(readdirSync(join(modules, 'outrigger/node_modules/.cache/compile'))).not.toEqual([]);
  });
});
