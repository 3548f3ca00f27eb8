import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeDeb } from './deb.ts';
import { stageApp } from './stage.ts';

/** Packages the app: bundles it, stages its files, calls electron-builder, and creates the Debian package. */
const usage = `npm run app:package -- [options] [-- options of electron-builder]

  --dir               only the unpacked app, in dist/*-unpacked; needs no network if an Electron is available
  --deb               also a Debian package of the app (Linux)
  --electron FOLDER   an unpacked Electron; default: ELECTRON_OVERRIDE_DIST_PATH, node_modules/electron/dist, or a download
  --bundle FOLDER     an existing bundle; default: node-agent/dist, built now
  --output FOLDER     the output folder; default: dist`;

const project = resolve(import.meta.dirname, '../..');

/** A failed step. Its own output is already on the terminal. */
class StepFailed extends Error {}

async function run(program: string, args: string[]): Promise<void> {
  const child = spawn(program, args, { cwd: project, stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  process.on('SIGINT', pass).on('SIGTERM', pass);
  const code = await new Promise<number>((done) => {
    child.once('error', () => done(127));
    child.once('exit', (exitCode) => done(exitCode ?? 1));
  });
  process.off('SIGINT', pass).off('SIGTERM', pass);
  if (code !== 0) throw new StepFailed(`${[program, ...args].join(' ')} ended with ${code}.`);
}

function findElectron(named: string | undefined): string | null {
  const found = [named, process.env['ELECTRON_OVERRIDE_DIST_PATH'], join(project, 'node_modules/electron/dist')].find(
    (folder) => folder !== undefined && existsSync(join(folder, 'version')),
  );
  if (found === undefined && named !== undefined)
    throw new StepFailed(`${named} contains no Electron (no file "version").`);
  return found === undefined ? null : resolve(found);
}

function checkElectron(electron: string, mayBeAny: boolean): string {
  const version = readFileSync(join(electron, 'version'), 'utf8').trim().replace(/^v/, '');
  const { version: wanted } = JSON.parse(readFileSync(join(project, 'node_modules/electron/package.json'), 'utf8')) as {
    version: string;
  };
  if (version !== wanted && !mayBeAny)
    throw new StepFailed(
      `${electron} is Electron ${version}, but releases use ${wanted}. For tests, package it with --dir.`,
    );
  return version;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      dir: { type: 'boolean', default: false },
      deb: { type: 'boolean', default: false },
      electron: { type: 'string' },
      bundle: { type: 'string' },
      output: { type: 'string', default: join(project, 'dist') },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  const output = resolve(values.output);
  const bundle = resolve(values.bundle ?? join(project, 'node-agent/dist'));
  if (values.bundle === undefined) await run(process.execPath, [join(project, 'node-agent/build.ts')]);
  stageApp(project, bundle, join(output, 'app'));
  const electron = findElectron(values.electron);
  const updateUrl = process.env['OUTRIGGER_UPDATE_URL'];
  await run(join(project, 'node_modules/.bin/electron-builder'), [
    ...(values.dir || values.deb ? ['--dir'] : []),
    '--publish',
    'never',
    `-c.directories.output=${output}`,
    `-c.directories.app=${join(output, 'app')}`,
    ...(electron === null
      ? []
      : [`-c.electronDist=${electron}`, `-c.electronVersion=${checkElectron(electron, values.dir)}`]),
    ...(updateUrl === undefined ? [] : ['-c.publish.provider=generic', `-c.publish.url=${updateUrl}`]),
    ...positionals,
  ]);
  if (values.deb) {
    const unpacked = readdirSync(output).find((name) => /^linux(-\w+)?-unpacked$/.test(name));
    if (unpacked === undefined) throw new StepFailed(`There is no unpacked app in ${output}.`);
    const deb = await makeDeb({ project, unpacked: join(output, unpacked), output });
    process.stdout.write(`${deb} (${Math.round(statSync(deb).size / 1_000_000)} MB)\n`);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`app:package: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
