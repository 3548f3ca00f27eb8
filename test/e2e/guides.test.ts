import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { processesWith } from '../fixtures/companion.ts';
import { commandBlocksOf, promisedOutputs, scriptOf } from '../fixtures/doc-commands.ts';
import { freePort } from '../fixtures/free-port.ts';
import { startPracticeSite } from '../fixtures/practice-site.ts';
import type { PracticeSite } from '../fixtures/practice-site.ts';
import { endsWithThisProcess, inheritedEnv, startHubProcess } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';
import { startVirtualScreen } from '../fixtures/virtual-screen.ts';
import type { VirtualScreen } from '../fixtures/virtual-screen.ts';

const pages = [
  'README.md',
  'docs/quickstart.md',
  ...readdirSync('docs/guides')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/guides/${name}`),
].filter((path) => commandBlocksOf(readFileSync(path, 'utf8')).some(({ kind }) => kind !== 'setup'));

/** Replaces the services that guides send to: every request gets a 200 response. */
const service = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
});
let folder: string;
let serviceUrl: string;
let site: PracticeSite;
let screen: VirtualScreen;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-guides-'));
  // The installed commands, run from this checkout.
  const commands = `#!/bin/bash
case $1 in
  outrigger) exec '${process.execPath}' '${resolve('hub/outrigger.js')}' "\${@:2}" ;;
  outrigger-companion) exec '${process.execPath}' '${resolve('node-agent/outrigger-companion.js')}' "\${@:2}" ;;
esac
echo "npx: the guides use no package $1" >&2
exit 1
`;
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/npx'), commands);
  chmodSync(join(folder, 'bin/npx'), 0o755);
  site = await startPracticeSite();
  screen = await startVirtualScreen();
  await new Promise<void>((done) => service.listen(0, '127.0.0.1', done));
  serviceUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});
afterAll(() => {
  service.close();
  site[Symbol.dispose]();
  screen[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function run(
  script: string,
  env: Record<string, string>,
  cwd: string,
): Promise<{ code: number | null; text: string }> {
  const child = spawn('bash', ['-c', script], {
    cwd,
    env: { ...inheritedEnv(), ...endsWithThisProcess(), NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  const timer = setTimeout(() => child.kill('SIGTERM'), 120_000);
  const code = await new Promise<number | null>((done) => child.once('close', (status) => done(status)));
  clearTimeout(timer);
  return { code, text };
}

test.each(pages)('the commands of %s work without changes, and print the output on the page', async (path) => {
  const home = join(folder, path.replaceAll(/\W/g, '-'));
  const data = join(home, '.outrigger');
  mkdirSync(data, { recursive: true });
  const hub = await startHubProcess({
    OUTRIGGER_HOME: data,
    PORT: '0',
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
  });
  const blocks = commandBlocksOf(readFileSync(path, 'utf8'));
  const values = {
    HUB: hub.url,
    SLACK_URL: `${serviceUrl}/slack`,
    SITE: site.url,
    SITE_USER: site.user,
    SITE_PASSWORD: site.password,
    BROWSER_OPTIONS: process.getuid?.() === 0 ? '--without-sandbox' : '',
  };
  const { code, text } = await run(
    // The servers of the guides use fixed ports, which another program may use.
    // The hub's own port can contain the same digits, such as 24520.
    scriptOf(blocks, values)
      .replaceAll(/\b4510\b/g, String(await freePort()))
      .replaceAll(/\b4520\b/g, String(await freePort())),
    {
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      HOME: home,
      HUB: hub.url,
      DISPLAY: screen.display,
      OUTRIGGER_HOME: data,
      OUTRIGGER_COMPANION_HOME: join(home, '.outrigger-companion'),
    },
    home,
  );
  const logs = readdirSync(home)
    .filter((name) => name.startsWith('background-'))
    .map((name) => readFileSync(join(home, name), 'utf8'));
  expect(code, `${text}\n${logs.join('\n')}`).toBe(0);
  let from = 0;
  for (const promised of blocks.filter(({ kind }) => kind === 'run').flatMap((block) => promisedOutputs(block.text))) {
    const at = text.indexOf(promised, from);
    expect(at, `${path} promises ${promised}, but the commands printed:\n${text}`).toBeGreaterThanOrEqual(0);
    from = at + promised.length;
  }
  await hub.stop();
  await until(
    () => processesWith(home).length === 0,
    () => `processes are left: ${processesWith(home).join(', ')}`,
  );
});
