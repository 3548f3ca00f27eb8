import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { signatureHeaders } from '../hub/products/webhooks/signature.ts';

const page = readFileSync('docs/reference/webhooks.md', 'utf8');
const blockOf = (language: string) => new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page)?.[1] ?? '';
const vector = JSON.parse(/<!-- vector -->\n```json\n([^]*?)```/.exec(page)?.[1] ?? 'null') as Record<string, string>;

const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

test('the test vector of the page has the signature of the hub', () => {
  const { secret = '', timestamp = '', body = '' } = vector;
  expect(
    signatureHeaders({ eventId: vector['webhook-id'] ?? '', body }, { secret, previous: null }, Number(timestamp)),
  ).toEqual({
    'x-service-timestamp': timestamp,
    'x-service-signature': vector['X-Service-Signature'],
    'webhook-id': vector['webhook-id'],
    'webhook-timestamp': timestamp,
    'webhook-signature': vector['webhook-signature'],
  });
});

/**
 * How to run the receiver of each language on the page. `asks` is appended to the receiver: it calls the receiver with
 * the arguments and prints the result.
 */
const languages = [
  {
    language: 'ts',
    name: 'receiver.ts',
    isThere: true,
    command: [process.execPath],
    asks: `const [secret, timestamp, signature, body] = process.argv.slice(2) as [string, string, string, string];
      console.log(isFromHub(secret, timestamp, signature, Buffer.from(body)));`,
  },
  {
    language: 'python',
    name: 'receiver.py',
    isThere: has('python3', '--version'),
    command: ['python3'],
    asks: 'import sys\nprint(str(is_from_hub(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4].encode())).lower())',
  },
  {
    language: 'go',
    name: 'receiver.go',
    isThere: has('go', 'version'),
    command: ['go', 'run'],
    asks: 'func main() { println(isFromHub(os.Args[1], os.Args[2], os.Args[3], []byte(os.Args[4]))) }',
  },
];

describe.each(languages)('the $language receiver', ({ language, name, isThere, command, asks }) => {
  test.skipIf(!isThere)(`accepts the test vector and rejects modified requests (needs ${command[0]})`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'outrigger-receiver-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const receiver = language === 'go' ? blockOf('go').replace('import (', 'import (\n\t"os"') : blockOf(language);
    writeFileSync(join(folder, name), `${receiver}\n${asks}\n`);
    const [program = '', ...args] = command;
    const ask = (secret: string, timestamp: string, signature: string, body: string) => {
      const given = [...args, join(folder, name), secret, timestamp, signature, body];
      // Go's println writes to the other stream.
      return language === 'go'
        ? spawnSync(program, given, { encoding: 'utf8' }).stderr.trim()
        : execFileSync(program, given, { encoding: 'utf8' }).trim();
    };
    const { secret = '', timestamp = '', body = '' } = vector;
    const signature = vector['X-Service-Signature'] ?? '';
    expect(ask(secret, timestamp, signature, body)).toBe('true');
    expect([
      ask(secret, timestamp, signature, `${body} `),
      ask(secret, '1767225601', signature, body),
      ask(`${secret}x`, timestamp, signature, body),
      ask(secret, timestamp, 'no signature', body),
    ]).toEqual(['false', 'false', 'false', 'false']);
  });
});
