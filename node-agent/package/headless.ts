import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Lays the companion without a window out as a package of its own, `dist/headless`: its sources and the few packages that they use, in the versions of the
 * project's lock file. Nothing of the hub is in it.
 */

const project = resolve(import.meta.dirname, '../..');
const to = resolve(process.argv[2] ?? join(project, 'dist/headless'));
/** What the runtime imports; test/architecture/rules.ts allows no others. */
const packages = [
  'canonicalize',
  'commander',
  'fast-png',
  'jpeg-js',
  'node',
  'playwright-core',
  'systeminformation',
  'ws',
  'zod',
];

interface Project {
  version: string;
  license: string;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
}
const { version, license, engines, dependencies } = JSON.parse(
  readFileSync(join(project, 'package.json'), 'utf8'),
) as Project;

rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });
for (const path of [
  'node-agent/outrigger-companion.js',
  'node-agent/runtime',
  'shared',
  'LICENSE',
  'docs/companion.md',
])
  cpSync(join(project, path), join(to, path), {
    recursive: true,
    filter: (file) => !/\.test\.ts$|tsconfig\.json$/.test(file) && file !== join(project, 'shared/web'),
  });
renameSync(join(to, 'docs/companion.md'), join(to, 'README.md'));
rmSync(join(to, 'docs'), { recursive: true });
writeFileSync(
  join(to, 'package.json'),
  `${JSON.stringify(
    {
      name: 'outrigger-companion',
      version,
      description: 'Lets workflows of an Outrigger hub use this machine, within what you allow.',
      license,
      type: 'module',
      engines,
      bin: { 'outrigger-companion': 'node-agent/outrigger-companion.js' },
      dependencies: Object.fromEntries(packages.map((name) => [name, dependencies[name]])),
      allowScripts: { node: true },
    },
    null,
    2,
  )}\n`,
);
// npm takes from the lock file what is left of the tree, and notes nothing newer.
cpSync(join(project, 'package-lock.json'), join(to, 'package-lock.json'));
const npm = spawnSync(
  'npm',
  ['install', '--package-lock-only', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'],
  {
    cwd: to,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 120_000,
  },
);
if (npm.status !== 0) {
  process.stderr.write(`app:headless: npm could not make the lock file of ${to}.\n`);
  process.exitCode = 1;
} else {
  // Under this name it goes along when the package is installed.
  renameSync(join(to, 'package-lock.json'), join(to, 'npm-shrinkwrap.json'));
  process.stdout.write(`${to}\n`);
}
