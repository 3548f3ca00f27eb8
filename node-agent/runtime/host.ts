import { z } from 'zod';
import { hostAnswer, hostMethods, hostOffer } from '../../shared/companion/host.ts';
import type { HostMethodName, HostOffer } from '../../shared/companion/host.ts';
import { DataFolder } from './data-folder.ts';
import { throttleEvents } from './event-log.ts';
import { HostError } from './host-port.ts';
import type { HostPort } from './host-port.ts';
import { Supervisor } from './supervisor.ts';

/**
 * The runtime inside the app. The app starts it as a utility process and talks to it over a message port. The first
 * message states what the app offers and where the data folder is. Then both sides send requests and answers. The app
 * sends `{ stop: true }` when it quits.
 */

/** The port of a utility process. Declared here because the runtime does not depend on Electron. */
interface ParentPort {
  on(event: 'message', listener: (message: { data: unknown }) => void): void;
  postMessage(message: unknown): void;
}

const firstMessage = z.object({ offer: hostOffer, dataFolder: z.string().min(1).optional() });
const stopMessage = z.object({ stop: z.literal(true) });

class AppPort implements HostPort {
  readonly offer: HostOffer;
  readonly #port: ParentPort;
  readonly #waiting = new Map<number, (answer: z.output<typeof hostAnswer>) => void>();
  #nextId = 0;

  constructor(port: ParentPort, offer: HostOffer) {
    this.#port = port;
    this.offer = offer;
  }

  onAnswer(answer: z.output<typeof hostAnswer>): void {
    this.#waiting.get(answer.id)?.(answer);
  }

  call: HostPort['call'] = async (method, params, signal) => {
    const id = this.#nextId;
    this.#nextId += 1;
    signal.throwIfAborted();
    const answered = Promise.withResolvers<z.output<typeof hostAnswer>>();
    const onAbort = () => answered.reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.set(id, answered.resolve);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port between processes has no origins
    this.#port.postMessage({ id, method, params });
    try {
      const { error, result } = await answered.promise;
      if (error !== undefined) throw new HostError(error.code, error.message);
      return hostMethods[method satisfies HostMethodName].result.parse(result) as never;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
    }
  };
}

const { parentPort } = process as unknown as { parentPort?: ParentPort };
if (parentPort === undefined) {
  process.stderr.write(
    'This is the part of the app that works for the hub; start the app, or: outrigger-companion run\n',
  );
  process.exit(1);
}
const stop = new AbortController();
let app: AppPort | undefined;

const writeEvent = (event: object) =>
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...event })}\n`);

async function work(first: z.output<typeof firstMessage>): Promise<void> {
  app = new AppPort(parentPort as ParentPort, first.offer);
  await new Supervisor({
    folder: new DataFolder(first.dataFolder),
    host: app,
    staysUnpaired: true,
    signal: stop.signal,
    onEvent: throttleEvents(writeEvent),
  }).run();
}

parentPort.on('message', ({ data }) => {
  const answer = hostAnswer.safeParse(data);
  if (answer.success) return app?.onAnswer(answer.data);
  if (stopMessage.safeParse(data).success) return stop.abort();
  const first = firstMessage.safeParse(data);
  if (!first.success || app !== undefined) return;
  work(first.data).then(
    () => process.exit(0),
    (error: unknown) => {
      writeEvent({ event: 'ended', reason: (error as Error).message });
      process.exit(1);
    },
  );
});
