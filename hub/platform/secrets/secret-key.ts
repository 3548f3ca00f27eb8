import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import type { Database } from '../db/database.ts';
import { eq } from '../db/orm.ts';
import { hubSettings } from '../db/schema.ts';
import { createStateFile } from '../process/state-file.ts';

/**
 * Reads the secret key of a data folder. Creates one, readable by its owner only, if it is missing.
 * @throws AppError when the file is invalid.
 */
export function loadSecretKey(home: string): Buffer {
  const path = join(home, 'secret.key');
  if (!existsSync(path)) {
    try {
      createStateFile(path, `${randomBytes(32).toString('hex')}\n`);
    } catch (error) {
      // Another process that started at the same time has created the file.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  const text = readFileSync(path, 'utf8').trim();
  if (!/^[0-9a-f]{64}$/i.test(text))
    throw new AppError(
      'unavailable',
      `${path} does not contain a secret key; restore the file from a backup, or set SECRET_KEY.`,
    );
  return Buffer.from(text, 'hex');
}

/**
 * Checks that all processes of an installation use the same secret key. With another key, encrypted secrets could not
 * be decrypted.
 * @throws AppError when the key differs from that of the database.
 */
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
        'SECRET_KEY differs from the key that this database was set up with; set the same key for every process of an installation.',
      );
  });
}
