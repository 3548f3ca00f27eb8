import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';

/** The database of the hub in its embedded server. */
export const database = 'outrigger';

/** Where this installation's server listens and how to sign in; kept so that the command line finds a running one. */
export const storedAccess = z.object({
  port: z.int().min(1).max(65_535),
  /** The superuser's. */
  password: z.string().min(1),
  /** The hub's; missing in data folders of earlier versions, whose hub was the superuser. */
  hubPassword: z.string().min(1).optional(),
});
export type Access = Required<z.output<typeof storedAccess>>;

export const accessFile = (home: string) => join(home, 'postgres.json');

export function urlOf(port: number, user: string, password: string, name = database): string {
  return `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}`;
}

/**
 * The wanted port if it is free, else another one. It lies below the range from which systems choose the local ports of outgoing
 * connections (32768 and above), so that none of them has it when PostgreSQL restarts after a crash.
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
