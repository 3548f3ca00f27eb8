import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { AppError } from '../shared/errors.ts';
import type { SettingSources } from './config.ts';

/**
 * Merges the variables of a `.env` file into the environment. The environment takes precedence.
 * @throws AppError that names the invalid line of `.env`.
 */
export function readEnvironment(env: Record<string, string | undefined>, path = '.env'): SettingSources {
  const readFile = (file: string) => readFileSync(file, 'utf8');
  let text: string;
  try {
    // Windows editors start files with a byte order mark, which would become part of the first name.
    text = readFile(path).replace(/^\uFEFF/, '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { env, readFile };
    throw new AppError(
      'unavailable',
      `${path} can't be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
      { cause: error },
    );
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (!/^\s*(#.*|(export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=.*)?$/.test(line.replace(/\r$/, ''))) {
      throw new AppError('unavailable', `${path}, line ${index + 1}, is not NAME=value.`);
    }
  }
  return { env: { ...parseEnv(text), ...env }, readFile };
}
