import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import type { Database } from '../db/database.ts';
import { eq } from '../db/orm.ts';
import { hubSettings } from '../db/schema.ts';
import { createStateFile } from '../process/state-file.ts';

/** The secret key of a data folder; made, readable by its owner alone, when there is none. @throws AppError when the file is broken. */
export function loadSecretKey(home: string): Buffer {
  const path = join(home, 'secret.key');
  if (!existsSync(path)) {
    try {
      createStateFile(path, `${randomBytes(32).toString('hex')}\n`);
    } catch (error) {
      // Two processes that begin together: one made it.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  const text = readFileSync(path, 'utf8').trim();
  if (!/^[0-9a-f]{64}$/i.test(text))
    throw new AppError(
      'unavailable',
      `${path} does not hold a secret key; put the right file back, or set SECRET_KEY.`,
    );
  return Buffer.from(text, 'hex');
}

/** All processes of an installation must share one key; with another, sealed secrets could not be opened. */
export async function assertSecretKey(db: Database, fingerprint: string): Promise<void> {
  await db.system(async (tx) => {
    await tx.insert(hubSettings).values({ key: 'secret_key_fingerprint', value: fingerprint }).onConflictDoNothing();
    const [row] = await tx
      .select({ value: hubSettings.value })
      .from(hubSettings)
      .where(eq(hubSettings.key, 'secret_key_fingerprint'));
    if (row?.value !== fingerprint)
      throw new AppError(
        'unavailable',
        'SECRET_KEY is not the one that this database was set up with; give every process of an installation the same key.',
      );
  });
}
