import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { utilityProcess } from 'electron';
import type { HostOffer } from '../../shared/companion/host.ts';
import { background } from '../runtime/background.ts';
import type { CompanionProcess } from './companion-process.ts';
import { answerHostRequest } from './host-requests.ts';
import type { HostHandlers } from './host-requests.ts';
import { killWithParent } from './orphan-guard.ts';
import { readRuntimeLine } from './runtime-line.ts';

interface RuntimeOptions {
  distFolder: string;
  dataFolder: string;
  offer: HostOffer;
  handlers: HostHandlers;
  log: (event: string, detail?: string) => void;
}

/** Starts the runtime in a separate process, which is killed when this process ends for any reason. */
export function startRuntimeProcess(options: RuntimeOptions): CompanionProcess {
  const { log } = options;
  const child = utilityProcess.fork(join(options.distFolder, 'runtime.js'), [], {
    serviceName: 'Outrigger companion',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Ports between processes have no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const send = (message: object) => child.postMessage(message);
  send({ offer: options.offer, dataFolder: options.dataFolder });
  let orphanGuard: Disposable | undefined;
  child.once('spawn', () => {
    if (child.pid !== undefined) orphanGuard = killWithParent(child.pid);
  });
  child.once('exit', () => orphanGuard?.[Symbol.dispose]());
  let reason = '';
  for (const output of [child.stdout, child.stderr])
    if (output !== null)
      createInterface({ input: output }).on('line', (line) => {
        if (line.trim() === '') return;
        const runtimeLine = readRuntimeLine(line);
        reason = runtimeLine.reason ?? reason;
        log('runtime', runtimeLine.text);
      });
  child.on('message', (message: unknown) => {
    const answer = async () => {
      const response = await answerHostRequest(options.handlers, message, (method, error) =>
        log('the runtime was refused', `${method}: ${(error as Error).message}`),
      );
      if (response !== null) send(response);
    };
    background(answer(), 'answer to the runtime', log);
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
    stop: () => send({ stop: true }),
    kill: () => {
      // Electron only requests the end of a utility process. This signal enforces it.
      if (child.pid !== undefined) process.kill(child.pid, 'SIGKILL');
    },
  };
}
