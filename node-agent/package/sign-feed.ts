import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseKeys, readFeed, updateFeed } from '../main/updates/feed.ts';

/**
 * Announces an AppImage as an update: `key` creates a key pair, `feed` writes the announcement of a file with its
 * signatures. Private keys are read from a file or from OUTRIGGER_UPDATE_PRIVATE_KEY (PEM), and never printed.
 */
const usage = `node node-agent/package/sign-feed.ts key  --to update-key.pem
node node-agent/package/sign-feed.ts feed --key update-key.pem --file APPIMAGE --app-version 1.2.3 [--minimum 1.0.0] [--arch x64]

  key   creates a key pair: writes the private key to a new file that only you can read, and prints the public key (OUTRIGGER_UPDATE_KEYS of a build)
  feed  writes linux-ARCH.json and linux-ARCH.json.sig to the folder of the file; each --key adds a signature, so that builds with either key accept it`;

class UsageError extends Error {}

const rawPublicKey = (key: KeyObject): string =>
  Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x as string, 'base64url').toString('base64');

function makeKey(to: string): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    writeFileSync(to, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new UsageError(
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `${to} already exists. Name another file: a key is never replaced.`
        : `${to} can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}).`,
    );
  }
  return rawPublicKey(privateKey);
}

function readKey(text: string, from: string): KeyObject {
  try {
    const key = createPrivateKey(text);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // The error below does not contain the content of the file.
  }
  throw new UsageError(`${from} contains no Ed25519 private key in PEM.`);
}

function readKeys(files: string[]): KeyObject[] {
  const variable = process.env['OUTRIGGER_UPDATE_PRIVATE_KEY'];
  const keys = files.map((file) => {
    if (!existsSync(file)) throw new UsageError(`${file} does not exist.`);
    return readKey(readFileSync(file, 'utf8'), file);
  });
  if (variable !== undefined && variable !== '') keys.push(readKey(variable, 'OUTRIGGER_UPDATE_PRIVATE_KEY'));
  if (keys.length === 0) throw new UsageError('No private key. Pass one with --key or OUTRIGGER_UPDATE_PRIVATE_KEY.');
  return keys;
}

async function sha512(file: string): Promise<string> {
  const hash = createHash('sha512');
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
  return hash.digest('hex');
}

async function makeFeed(options: { file: string; version: string; minimum: string; arch: string; keys: KeyObject[] }) {
  const { file, version, minimum, arch, keys } = options;
  if (!existsSync(file)) throw new UsageError(`${file} does not exist.`);
  const feed = updateFeed.safeParse({
    app: 'outrigger-companion',
    target: `linux-${arch}`,
    version,
    file: basename(file),
    bytes: statSync(file).size,
    sha512: await sha512(file),
    minimumVersion: minimum,
    releasedAt: new Date().toISOString(),
  });
  if (!feed.success)
    throw new UsageError(feed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  const bytes = Buffer.from(`${JSON.stringify(feed.data, null, 2)}\n`);
  const signatures = keys.map((key) => `${sign(null, bytes, key).toString('base64')}\n`).join('');
  // Verifies the feed with each key before it is written.
  for (const key of keys) readFeed(bytes, signatures, parseKeys(rawPublicKey(key)));
  const to = join(dirname(file), `linux-${arch}.json`);
  writeFileSync(to, bytes);
  writeFileSync(`${to}.sig`, signatures);
  return to;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      to: { type: 'string' },
      key: { type: 'string', multiple: true, default: [] },
      file: { type: 'string' },
      'app-version': { type: 'string' },
      minimum: { type: 'string', default: '0.0.0' },
      arch: { type: 'string', default: process.arch },
      help: { type: 'boolean', default: false },
    },
  });
  const [command] = positionals;
  const { to, file, 'app-version': version } = values;
  if (values.help || (command !== 'key' && command !== 'feed')) throw new UsageError(usage);
  if (command === 'key') {
    if (to === undefined) throw new UsageError('--to is missing: the file for the private key.');
    process.stdout.write(`${makeKey(to)}\n`);
    return;
  }
  if (file === undefined) throw new UsageError('--file is missing: the AppImage.');
  if (version === undefined) throw new UsageError('--app-version is missing: the version of the AppImage.');
  const { minimum, arch } = values;
  const written = await makeFeed({ file, version, minimum, arch, keys: readKeys(values.key) });
  process.stdout.write(`${written}\n${written}.sig\n`);
}

try {
  await main();
} catch (error) {
  const isUsageError =
    error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`sign-feed: ${isUsageError === true ? (error as Error).message : String(error)}\n`);
  process.exitCode = isUsageError === true ? 2 : 1;
}
