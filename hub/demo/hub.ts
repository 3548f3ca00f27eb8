import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasEnded, runToEnd, start, waitUntil } from './processes.ts';

/** The hub of a demo. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const launcher = join(root, 'hub/outrigger.js');
const hubCli = join(root, 'hub/cli/cli.ts');

export const print = (line = '') => process.stdout.write(`${line}\n`);

export interface Demo {
  home: string;
  url: string;
  signal: AbortSignal;
  yes: boolean;
}

/** Returns the path of a program, searched on the `PATH`; undefined when it is not found. */
export function findProgram(program: string): string | undefined {
  const paths = isAbsolute(program)
    ? [program]
    : (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  return response.ok;
}

/**
 * Uses the running hub of this folder, or starts one.
 * @param env additional environment variables of a hub that is started.
 * @returns whether a hub was started.
 */
export async function ensureHub(
  stack: AsyncDisposableStack,
  demo: Demo,
  env: Record<string, string> = {},
): Promise<boolean> {
  if (await answers(demo.url).catch(() => false)) {
    print(`Using the hub at ${demo.url}`);
    return false;
  }
  const log = join(demo.home, 'hub.log');
  const hub = stack.use(
    start(process.execPath, [launcher, 'start'], {
      output: { file: log },
      env: { OUTRIGGER_HOME: demo.home, ...env },
    }),
  );
  const findFailure = () => (hasEnded(hub.child) ? `${hub.tail()} (log: ${relative('.', log)})` : null);
  await waitUntil('The hub did not start', () => answers(demo.url), {
    timeoutMs: 60_000,
    signal: demo.signal,
    findFailure,
  });
  print(`The hub is ready at ${demo.url}`);
  return true;
}

/** Installs the tools that the demo uses, with the set-up script of the tests. */
export const installTools = ({ signal }: Demo) =>
  runToEnd('bash', [join(root, 'test/setup.sh')], { inherit: true, timeoutMs: 600_000, signal })
    .then(() => undefined)
    .catch(() => print('The set-up script failed; continuing with the installed tools.'));

/** Runs an `outrigger` command on the hub of a demo. */
export const hubCommand = ({ home, signal }: Demo, ...args: string[]): Promise<string> =>
  runToEnd(process.execPath, [hubCli, ...args], { env: { OUTRIGGER_HOME: home }, signal });

/**
 * Creates an API token of the demo workspace, with the default permissions of the product unless `permission` is set.
 */
export async function createToken(
  demo: Demo,
  product: string,
  permission?: string,
): Promise<{ id: string; key: string }> {
  const options = ['--workspace=demo', `--product=${product}`, '--name=demo', '--json'];
  if (permission !== undefined) options.push('--permission', permission);
  return JSON.parse(await hubCommand(demo, 'token', 'create', ...options)) as { id: string; key: string };
}
