import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';

/** Name of the hub's database on the embedded server. */
export const database = 'outrigger';

/**
 * Port and passwords of the embedded server of a data folder. They are stored so that the command line can connect to a
 * running server.
 */
export const storedAccess = z.object({
  port: z.int().min(1).max(65_535),
  /** Password of the superuser. */
  password: z.string().min(1),
  /** Password of the hub's role. Missing in data folders of earlier versions, whose hub was the superuser. */
  hubPassword: z.string().min(1).optional(),
});
export type Access = Required<z.output<typeof storedAccess>>;

export const accessFile = (home: string) => join(home, 'postgres.json');

export function urlOf(port: number, user: string, password: string, name = database): string {
  return `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}`;
}

/**
 * Returns the preferred port if it is free, else another free port below 32768. Systems use ports from 32768 for
 * outgoing connections, so a port below it is still free when PostgreSQL restarts after a crash.
 */
export async function freePort(wanted: number | undefined): Promise<number> {
  const listen = (port: number) =>
    new Promise<number | null>((done) => {
      const probe = createServer();
      probe.once('error', () => done(null));
      probe.listen(port, '127.0.0.1', () => {
        const address = probe.address();
        probe.close(() => done(typeof address === 'object' && address !== null ? address.port : null));
      });
    });
  let port = wanted === undefined ? null : await listen(wanted);
  for (let tries = 0; port === null && tries < 20; tries += 1) port = await listen(randomInt(20_000, 32_000));
  port ??= await listen(0);
  if (port === null) throw new AppError('unavailable', 'No free port for the embedded database.');
  return port;
}
