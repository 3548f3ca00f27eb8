import { Argument } from 'commander';
import { testParts } from '../../../shared/companion/control.ts';
import type { TestPart, TestResult } from '../../../shared/companion/control.ts';
import { onStopRequest } from '../../../shared/node/process-lifetime.ts';
import { visibleJson, visibleLine } from '../../../shared/visible-text.ts';
import { BrowserSession } from '../commands/browser/session.ts';
import { ControlClient } from '../control/client.ts';
import { CompanionError } from '../data-folder.ts';
import type { DataFolder } from '../data-folder.ts';
import { DeviceSecrets } from '../device-secrets.ts';
import { describeRemedy } from '../permission-answers.ts';
import { PermissionReader } from '../permissions.ts';
import { ProcessGuard } from '../process-guard.ts';
import { runSelfTest } from '../self-test.ts';
import { asTyped, json } from './context.ts';
import type { CliContext } from './context.ts';

/** Longer than the time limits of all parts together, in milliseconds. */
const testDeadlineMs = 180_000;

interface TestRun {
  signal: AbortSignal;
  onResult: (result: TestResult) => void;
}

/**
 * Tests parts in this process. No companion may run on the folder, because its browser profile can be open only once.
 */
async function testInThisProcess(folder: DataFolder, parts: readonly TestPart[], run: TestRun): Promise<TestResult[]> {
  await using guard = new ProcessGuard();
  await using browser = new BrowserSession(folder.browserProfile);
  using permissions = new PermissionReader(guard);
  return await runSelfTest(
    parts,
    {
      settings: () => folder.settingsInForce(),
      identity: async () => {
        const pairing = folder.readPairing();
        return pairing === null ? null : new DeviceSecrets(null).open(folder, pairing, run.signal);
      },
      temporary: folder.temporary,
      guard,
      browser,
      permissions,
    },
    run,
  );
}

/** Tests through the running companion, which has the browser profile open, or in this process if none runs. */
export async function testHere(folder: DataFolder, parts: readonly TestPart[], run: TestRun): Promise<TestResult[]> {
  using client = await ControlClient.open(folder, run.signal);
  if (client === null) return await testInThisProcess(folder, parts, run);
  await client.subscribe((event) => {
    if (event.event === 'test') run.onResult(event.result);
  });
  const { results } = await client.call(
    'test',
    { parts: [...parts] },
    { signal: run.signal, timeoutMs: testDeadlineMs },
  );
  return results;
}

/** A result as lines of a table: part, state and detail, with the remedy below. */
function rowsOf({ part, state, detail, permission }: TestResult): string {
  const indent = ' '.repeat(16);
  const lines = [`${state.padEnd(7)} ${part.padEnd(7)} ${visibleLine(detail)}`];
  if (permission !== null && permission.detail !== detail) lines.push(`${indent}${visibleLine(permission.detail)}`);
  if (permission?.remedy) lines.push(`${indent}${visibleLine(describeRemedy(permission.remedy))}`);
  return `${lines.join('\n')}\n`;
}

/** Adds `test` to the command line. */
export function addTestCommand({ program, dataFolder }: CliContext): void {
  program
    .command('test')
    .description('test what workflows may use on this machine by using it')
    .addArgument(new Argument('[part...]', 'what to test (default: everything)').choices(testParts))
    .addOption(json())
    .action(async (parts: TestPart[], options: { json?: boolean }) => {
      const stop = new AbortController();
      onStopRequest({ onStop: () => stop.abort(new CompanionError('The test was stopped.', { exitCode: 130 })) });
      const onResult = (result: TestResult) => {
        if (options.json !== true) process.stdout.write(asTyped(rowsOf(result)));
      };
      const results = await testHere(dataFolder(), parts.length === 0 ? testParts : parts, {
        signal: stop.signal,
        onResult,
      });
      if (options.json === true) process.stdout.write(`${visibleJson(results, 2)}\n`);
      if (results.some(({ state }) => state === 'failed')) process.exitCode = 1;
    });
}
