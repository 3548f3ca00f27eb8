import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { recordTimings } from './recorded-timings.ts';

/**
 * Runs the checks of `npm test`: tools, format and unused code, then types and linter beside the tests. Prints one
 * line with the counts at the end.
 *
 *     npm test                      everything
 *     npm run test:fast             format, linters, types, and the tests that run in one process (also: test:e2e, test:chaos, test:app)
 *     npm test -- FILE… [OPTIONS]   only these files, with the options of vitest
 *     npm test -- --record-timings  everything, then writes the duration of each file to test/timings.json
 *
 * A failed test is never retried: a test that passes only on a retry hides a fault.
 */

/** What each tier runs: the projects of `vitest.config.ts`, and whether the static checks belong to it. */
const tiers: Record<string, { projects: string[]; isChecked: boolean }> = {
  all: { projects: [], isChecked: true },
  fast: { projects: ['in process'], isChecked: true },
  e2e: { projects: ['companion', 'e2e'], isChecked: false },
  chaos: { projects: ['chaos'], isChecked: false },
  app: { projects: ['app'], isChecked: false },
};

interface JsonReport {
  success: boolean;
  testResults: {
    name: string;
    message: string;
    startTime: number;
    endTime: number;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

interface Tally {
  passed: number;
  failed: string[];
  skipped: string[];
}

/** The exit code of shells for an interrupted program. */
const stoppedCode = 130;

const printLine = (line: string) => process.stdout.write(`${line}\n`);

const running = new Set<ChildProcess>();
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isStopping = true;
    for (const child of running) child.kill(signal);
  });

/** Registers a child that gets the signals of this process. */
function register<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

function run(command: string, args: string[], env = process.env): Promise<number> {
  if (isStopping) return Promise.resolve(stoppedCode);
  const child = register(spawn(command, args, { stdio: 'inherit', env }));
  return new Promise((done) => {
    child.once('error', () => done(127));
    child.once('exit', (code) => done(code ?? stoppedCode));
  });
}

async function check(tally: Tally, title: string, command: string, args: string[]): Promise<void> {
  printLine(`\n== ${title}`);
  const startedAt = performance.now();
  const code = await run(command, args);
  if (code === 0) {
    tally.passed += 1;
    printLine(`${title}: fine (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  } else {
    tally.failed.push(`${title} (exit code ${code})`);
  }
}

/** Runs a check beside the tests with a low priority, because most tests wait now and then. Resolves at its end. */
function checkBesideTests(tally: Tally, title: string, command: string, args: string[]): Promise<void> {
  const startedAt = performance.now();
  const child = register(spawn('nice', ['-n', '10', command, ...args], { stdio: ['ignore', 'pipe', 'inherit'] }));
  let found = '';
  child.stdout.on('data', (chunk: Buffer) => (found += chunk.toString()));
  return new Promise((done) => {
    child.once('error', (error) => {
      tally.failed.push(`${title} (${error.message})`);
      done();
    });
    child.once('close', (code) => {
      if (code === 0) tally.passed += 1;
      else tally.failed.push(`${title} (exit code ${code})`);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      printLine(`\n== ${title}\n${found}${title}: ${code === 0 ? `fine (${seconds} s)` : 'not fine'}\n`);
      done();
    });
  });
}

/** The checks that read the types of the whole project take tens of seconds. One runs at a time, because each needs 2 GB. */
async function checkTypes(tally: Tally): Promise<void> {
  // One checker more does much of the work of the first again, and one project more takes its memory.
  await checkBesideTests(tally, 'types', 'tsc', ['-b', '--builders', '1', '--checkers', '2']);
  if (!isStopping) await checkBesideTests(tally, 'lint', 'oxlint', ['--deny-warnings']);
}

function readReport(path: string): JsonReport | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as JsonReport;
  } catch {
    return null;
  }
}

function count(tally: Tally, report: JsonReport): void {
  for (const file of report.testResults) {
    const name = relative(process.cwd(), file.name);
    if (file.assertionResults.length === 0) tally.failed.push(`${name}: no test ran (${file.message.split('\n')[0]})`);
    for (const { fullName, status } of file.assertionResults) {
      if (status === 'passed') tally.passed += 1;
      else if (status === 'failed') tally.failed.push(`${name}: ${fullName}`);
      else tally.skipped.push(`${name}: ${fullName}`);
    }
  }
}

const timingsOf = (report: JsonReport) =>
  Object.fromEntries(
    report.testResults.map(({ name, startTime, endTime }) => [
      relative(process.cwd(), name),
      Math.ceil((endTime - startTime) / 1000),
    ]),
  );

interface Arguments {
  tier: string | undefined;
  isRecorded: boolean;
  /** Files and options that are passed to vitest. */
  chosen: string[];
}

function readArguments(words: string[]): Arguments {
  const tierFlag = '--tier=';
  const recordFlag = '--record-timings';
  return {
    tier: words.find((word) => word.startsWith(tierFlag))?.slice(tierFlag.length),
    isRecorded: words.includes(recordFlag),
    chosen: words.filter((word) => !word.startsWith(tierFlag) && word !== recordFlag),
  };
}

/** Removes a folder. Interrupted programs may still write to it until they end. */
async function remove(folder: string): Promise<void> {
  for (let triesLeft = 40; ; triesLeft -= 1) {
    try {
      await rm(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (triesLeft === 0) {
        printLine(`${folder} could not be removed (${(error as Error).message}); remove it yourself.`);
        return;
      }
      await delay(250);
    }
  }
}

async function main(): Promise<number> {
  const startedAt = performance.now();
  const { tier: tierName = 'all', isRecorded, chosen } = readArguments(process.argv.slice(2));
  const tier = tiers[tierName];
  if (tier === undefined) {
    printLine(`There is no tier "${tierName}". Use one of ${Object.keys(tiers).join(', ')}.`);
    return 2;
  }
  const isChecked = tier.isChecked && chosen.length === 0;
  const tally: Tally = { passed: 0, failed: [], skipped: [] };
  printLine('== tools');
  await run('bash', ['test/setup.sh']);
  if (isChecked) {
    await check(tally, 'format', 'oxfmt', ['--check']);
    await check(tally, 'unused code', 'knip', []);
  }
  if (isStopping) return stoppedCode;
  const types = isChecked ? checkTypes(tally) : undefined;
  printLine('\n== tests');
  // Contains all temporary files of the tests, so that they are removed even after an interruption. Socket paths have a
  // length limit, so the name is short.
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-'));
  // Some programs that tests start run as another user.
  chmodSync(folder, 0o711);
  const reportPath = join(folder, 'report.json');
  try {
    const words = [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${reportPath}`,
      ...tier.projects.map((project) => `--project=${project}`),
      ...chosen,
    ];
    const code = await run('vitest', words, { ...process.env, TMPDIR: folder });
    const report = readReport(reportPath);
    if (report === null) tally.failed.push(`the test runner ended with exit code ${code} and no report`);
    else {
      count(tally, report);
      if (code !== 0 && tally.failed.length === 0) tally.failed.push(`the test runner ended with exit code ${code}`);
      if (isRecorded && tally.failed.length === 0) recordTimings(timingsOf(report));
    }
  } finally {
    await remove(folder);
  }
  await types;
  if (tally.skipped.length > 0) printLine(`\nSkipped:\n${tally.skipped.map((name) => `  ${name}`).join('\n')}`);
  if (tally.failed.length > 0) printLine(`\nFailed:\n${tally.failed.map((name) => `  ${name}`).join('\n')}`);
  printLine(`\nIn ${Math.round((performance.now() - startedAt) / 1000)} s`);
  printLine(`${tally.passed} passed, ${tally.failed.length} failed, ${tally.skipped.length} skipped`);
  return tally.failed.length === 0 && tally.passed > 0 ? 0 : 1;
}

process.exitCode = await main();
