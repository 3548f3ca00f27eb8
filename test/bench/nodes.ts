import { spawn, execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { Agent, request } from 'undici';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { milliseconds, percentile, printTable } from './table.ts';
import { benchWaiting } from './waiting.ts';

const pings = 200;
const clicks = 60;

async function sample(count: number, work: () => Promise<unknown>): Promise<number[]> {
  for (let warm = 0; warm < 20; warm += 1) await work();
  const samples: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const startedAt = performance.now();
    await work();
    samples.push(performance.now() - startedAt);
  }
  return samples;
}

const row = (what: string, samples: number[]) => ({
  what,
  p50: milliseconds(percentile(samples, 0.5)),
  p99: milliseconds(percentile(samples, 0.99)),
});

async function benchCommands(hub: BenchHub): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-bench-companion-'));
  const env = { ...process.env, OUTRIGGER_COMPANION_HOME: folder };
  const cli = (...args: string[]) =>
    promisify(execFile)(process.execPath, [resolve('node-agent/runtime/cli.ts'), ...args], { env });
  const { nodeId, pairingCode } = await hub.api.call('createAutomationNode', { body: { allowBrowser: true } });
  await cli('pair', pairingCode, '--hub', hub.url);
  await cli('allow', 'browser', ...(process.getuid?.() === 0 ? ['--without-sandbox'] : []));
  await cli('hosts', '--private', 'localhost');
  const companion = spawn(process.execPath, [resolve('node-agent/runtime/cli.ts'), 'run'], { env, stdio: 'ignore' });
  const page = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<button>Press</button>'),
  );
  await new Promise<void>((done) => page.listen(0, '127.0.0.1', done));
  const pageUrl = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`;
  const dispatcher = new Agent({ connections: 4 });
  const headers = { 'x-api-key': hub.key, 'content-type': 'application/json' };
  const prepare = async (...steps: { skillId: string; input?: Record<string, unknown> }[]) =>
    (
      await hub.api.call('createAutomationWorkflow', {
        body: {
          name: 'bench',
          stepsJson: steps.map(({ skillId, input }) => ({
            type: 'skill' as const,
            skillId,
            input: { nodeId, ...input } as never,
          })),
        },
      })
    ).id;
  const run = async (workflowId: string) => {
    const started = await request(`${hub.url}/v1/automations/workflows/${workflowId}/run`, {
      method: 'POST',
      dispatcher,
      headers,
      body: '{}',
    });
    const { runId } = (await started.body.json()) as { runId: string };
    const ended = await request(`${hub.url}/v1/automations/runs/${runId}?waitSeconds=30`, { dispatcher, headers });
    const { status, error, stepsResultJson } = (await ended.body.json()) as {
      status: string;
      error: unknown;
      stepsResultJson: { output: { latencyMs?: number } }[];
    };
    if (status !== 'succeeded') throw new Error(`the run ended ${status}: ${JSON.stringify(error)}`);
    return stepsResultJson[0]?.output.latencyMs ?? 0;
  };
  try {
    const ping = await prepare({ skillId: 'node.ping' });
    const device: number[] = [];
    const whole = await sample(pings, async () => device.push(await run(ping)));
    const bare = await sample(pings, async () => (await request(`${hub.url}/healthz`, { dispatcher })).body.dump());
    printTable(`node.ping, ${pings} one after the other`, [
      row('run accepted to run read as done, through the public API', whole),
      row('hub hands the command out to device answers', device.slice(20)),
      row('a bare HTTP round trip to the same hub', bare),
    ]);

    const browser = findBrowser(undefined);
    if (browser === null) {
      process.stdout.write('no browser is installed: the click rows are left out\n');
      return;
    }
    // A run clicks only on pages that it has opened itself.
    const click = await prepare(
      { skillId: 'browser.navigate', input: { url: pageUrl } },
      { skillId: 'browser.click', input: { target: { text: 'Press' } } },
    );
    const throughWorkflow = await sample(clicks, () => run(click));
    const direct = await chromium.launch({ executablePath: browser.path, chromiumSandbox: process.getuid?.() !== 0 });
    const byPlaywright = await sample(clicks, async () => {
      const directPage = await direct.newPage();
      await directPage.goto(pageUrl);
      await directPage.getByText('Press').click();
      await directPage.close();
    });
    await direct.close();
    printTable(`browser.navigate and browser.click, ${clicks} one after the other`, [
      row('through a workflow on a companion', throughWorkflow),
      row('Playwright direct', byPlaywright),
    ]);
  } finally {
    companion.kill('SIGINT');
    await new Promise((done) => companion.once('exit', done));
    page.closeAllConnections();
    page.close();
    await dispatcher.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Measures commands to nodes, and waiting nodes. */
export async function benchNodes(args: string[]): Promise<void> {
  const wanted = readBenchArguments('nodes', args, {
    commands: 'commands to a companion, one after the other, beside the same done directly',
    waiting: 'what devices that wait cost the hub',
  });
  if (wanted === null) return;
  if (wanted.parts.has('commands')) {
    await using hub = await startBenchHub();
    await benchCommands(hub);
  }
  if (wanted.parts.has('waiting')) await benchWaiting([]);
}
