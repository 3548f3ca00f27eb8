import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { clientTypes } from './client-types.ts';

const client = resolve('shared/client/client.ts');

/** Type-checks a consumer of the client as its user would. */
async function check(source: string): Promise<{ errors: string; instantiations: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-consumer-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        target: 'es2024',
        lib: ['es2024', 'dom'],
        types: [],
        module: 'nodenext',
        moduleResolution: 'nodenext',
        allowImportingTsExtensions: true,
        noEmit: true,
        skipLibCheck: true,
      },
    }),
  );
  await writeFile(join(folder, 'consumer.ts'), `import { createClient } from '${client}';\n${source}`);
  const run = promisify(execFile)(resolve('node_modules/.bin/tsc'), ['-p', folder, '--extendedDiagnostics']);
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  const instantiations = Number(/Instantiations:\s+(\d+)/.exec(stdout)?.[1]);
  return {
    errors: stdout
      .split('\n')
      .filter((line) => line.includes('error TS'))
      .join('\n'),
    instantiations,
  };
}

test('the committed client types match the contract', async () => {
  expect(await readFile('shared/client/operations.ts', 'utf8')).toBe(clientTypes());
});

test('type-checking code that uses the client needs few type instantiations', async () => {
  const { errors, instantiations } = await check(`
const client = createClient({ baseUrl: 'http://127.0.0.1:4400', fetch, token: 'key' });
const { data } = await client.call('listAutomationWorkflows', { query: { active: 'true' } });
const started = await client.call('runAutomationWorkflow', { params: { id: data[0]!.id }, body: { payload: { city: 'Graz' } } });
const run = 'runId' in started ? await client.call('getAutomationRun', { params: { id: started.runId } }) : null;
export const outputs: (string | null)[] = run?.stepsResultJson.map((step) => step.outputText) ?? [];
export const stream: Response = await client.open('streamAutomationLogs');
`);
  expect(errors).toBe('');
  expect(instantiations).toBeGreaterThan(0);
  expect(instantiations).toBeLessThan(20_000);
});

test('unknown inputs and wrong types of response fields are type errors', async () => {
  const { errors } = await check(`
const client = createClient({ baseUrl: 'http://127.0.0.1:4400', fetch });
void client.call('noSuchOperation');
void client.call('getAutomationRun');
void client.call('listAutomationWorkflows', { query: { active: 'perhaps' } });
void client.call('getAutomationArtifact', { params: { id: 'x' } });
export const name: number = (await client.call('getAutomationWorkflow', { params: { id: 'x' } })).name;
`);
  expect(errors.match(/consumer\.ts\(\d+/g)).toEqual([3, 4, 5, 6, 7].map((line) => `consumer.ts(${line + 1}`));
});
