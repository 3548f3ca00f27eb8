import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Creates the package of the companion without a window, `dist/headless`: its sources and the packages that they use, in
 * the versions of the lock file of the project. It contains nothing of the hub.
 */

const project = resolve(import.meta.dirname, '../..');
const to = resolve(process.argv[2] ?? join(project, 'dist/headless'));
/** Packages that the runtime imports. test/architecture/rules.ts allows no others. */
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
  'docs/guides/install-the-companion.md',
])
  cpSync(join(project, path), join(to, path), {
    recursive: true,
    filter: (file) => !/\.test\.ts$|tsconfig\.json$/.test(file) && file !== join(project, 'shared/web'),
  });
renameSync(join(to, 'docs/guides/install-the-companion.md'), join(to, 'README.md'));
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
// npm reduces the lock file to the remaining packages and keeps their versions.
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
  process.stderr.write(`app:headless: npm could not create the lock file of ${to}.\n`);
  process.exitCode = 1;
} else {
  // With this name, npm uses the file when the package is installed.
  renameSync(join(to, 'package-lock.json'), join(to, 'npm-shrinkwrap.json'));
  process.stdout.write(`${to}\n`);
}
