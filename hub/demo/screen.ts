import { readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findProgram, print } from './hub.ts';
import type { Demo } from './hub.ts';
import { hasEnded, start, waitUntil } from './processes.ts';

/**
 * Starts a virtual screen for the companion on a machine without one. Returns the value for `DISPLAY`. @throws
 * DemoError when Xvfb does not start.
 */
export async function ensureScreen(
  stack: AsyncDisposableStack,
  demo: Pick<Demo, 'home' | 'signal'>,
): Promise<string | undefined> {
  const existing = process.env['DISPLAY'] ?? process.env['WAYLAND_DISPLAY'];
  if (process.platform !== 'linux' || existing !== undefined) return process.env['DISPLAY'];
  if (findProgram('Xvfb') === undefined) {
    print('There is no screen and no Xvfb on this machine: the capture step will fail.');
    return undefined;
  }
  const log = join(demo.home, 'screen.log');
  const displayFile = join(demo.home, 'screen.number');
  rmSync(displayFile, { force: true });
  // Xvfb chooses a free display number and writes it to file descriptor 4. Its messages about used numbers go to the
  // log.
  const screen = stack.use(
    start(
      'sh',
      ['-c', 'exec Xvfb -displayfd 4 -screen 0 1280x800x24 -nolisten tcp -noreset 4>"$1"', 'sh', displayFile],
      {
        output: { file: log },
        stopWith: 'TERM',
      },
    ),
  );
  let display: string | undefined;
  const condition = async () => {
    display = /^(\d+)\n/.exec(readFileSync(displayFile, 'utf8'))?.[1];
    return display !== undefined;
  };
  const findFailure = () => (hasEnded(screen.child) ? `${screen.tail()} (log: ${relative('.', log)})` : null);
  await waitUntil('The virtual screen did not start', condition, {
    timeoutMs: 15_000,
    signal: demo.signal,
    findFailure,
  });
  const name = `:${display}`;
  if (findProgram('xterm') !== undefined) {
    const text = 'Outrigger demo\n\nThis is the virtual screen of the companion.\nThe workflow takes its picture.\n';
    const script = `printf '${text.replaceAll('\n', '\\n')}'; date; sleep 86400`;
    const xtermOptions = [
      '-geometry',
      '70x18+120+120',
      '-fa',
      'DejaVu Sans Mono',
      '-fs',
      '14',
      '-bg',
      '#0b2545',
      '-fg',
      '#e8f1ff',
      '-T',
      'Outrigger',
    ];
    stack.use(
      start('xterm', [...xtermOptions, '-e', 'sh', '-c', script], {
        output: { file: join(demo.home, 'xterm.log') },
        env: { DISPLAY: name },
        stopWith: 'TERM',
      }),
    );
    await new Promise((done) => setTimeout(done, 1_000));
  }
  return name;
}
