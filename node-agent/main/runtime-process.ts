import { join } from 'node:path';
import { utilityProcess } from 'electron';
import type { HostOffer } from '../../shared/companion/host.ts';
import type { CompanionProcess } from './companion-process.ts';
import { answerHost } from './host-answers.ts';
import type { HostHandlers } from './host-answers.ts';

interface RuntimeOptions {
  distFolder: string;
  dataFolder: string;
  offer: HostOffer;
  handlers: HostHandlers;
  log: (event: string, detail?: string) => void;
}

/** Starts the runtime in a process of its own, which ends with this one however this one ends. */
export function startRuntimeProcess(options: RuntimeOptions): CompanionProcess {
  const { log } = options;
  const child = utilityProcess.fork(join(options.distFolder, 'runtime.js'), [], {
    serviceName: 'Outrigger companion',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A port between processes has no origins.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const tell = (message: object) => child.postMessage(message);
  tell({ offer: options.offer, dataFolder: options.dataFolder });
  let reason = '';
  const note = (chunk: Buffer) => {
    for (const line of chunk
      .toString()
      .split('\n')
      .filter((text) => text.trim() !== '')) {
      reason = reasonOf(line) ?? reason;
      log('runtime says', line);
    }
  };
  child.stdout?.on('data', note);
  child.stderr?.on('data', note);
  child.on('message', (message: unknown) => {
    void answerHost(options.handlers, message, (method, error) =>
      log('the runtime was refused', `${method}: ${(error as Error).message}`),
    ).then((answer) => {
      if (answer !== null) tell(answer);
    });
  });
  const ended = new Promise<string>((done) => {
    child.once('exit', (code) =>
      done(code !== 0 && reason !== '' ? reason : `The companion's process ended with code ${code}.`),
    );
  });
  return {
    get pid() {
      return child.pid;
    },
    ended,
    stop: () => tell({ stop: true }),
    kill: () => {
      // Electron asks a utility process to end; this makes it.
      if (child.pid !== undefined) process.kill(child.pid, 'SIGKILL');
    },
  };
}

/** The last word of a runtime that ends, out of a line of its output; null for any other line. */
function reasonOf(line: string): string | null {
  try {
    const { event, reason } = JSON.parse(line) as { event?: unknown; reason?: unknown };
    return event === 'ended' && typeof reason === 'string' ? reason.slice(0, 500) : null;
  } catch {
    return null;
  }
}
