#!/usr/bin/env node
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { createClient } from '../../shared/client/client.ts';
import type { Client, Run } from '../../shared/client/client.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { onStopRequest } from '../../shared/node/process-lifetime.ts';
import { demoChat } from './chat.ts';
import { companionCli, pairCompanion } from './companion.ts';
import { createToken, ensureHub, hubCommand, installTools, print } from './hub.ts';
import type { Demo } from './hub.ts';
import { servePage } from './page.ts';
import { DemoError, hasEnded, start, waitUntil } from './processes.ts';
import { ensureScreen } from './screen.ts';
import { demoSteps } from './steps.ts';
import { Timeline } from './timeline.ts';

const help = `Usage: npm run demo -- [--yes] [--exit]
       npm run demo -- chat [--exit]    Live Chat: a visitor, an agent, webhooks and automations

Starts a hub (unless one runs), pairs a companion on this machine, and runs a workflow on it: ping, screen, files, browser,
an approval, a command. Screenshots are saved in .outrigger/demo.

  --yes    approve automatically instead of asking
  --exit   stop everything afterwards; the exit code is 0 only if every step succeeded
  --help
`;

/** The demo fails when no step changes its status for this long, in milliseconds. Approvals do not count. */
const stepDeadlineMs = 120_000;

/** Pairs and starts a companion with its own data folder. */
async function startCompanion(
  stack: AsyncDisposableStack,
  demo: Demo,
  api: Client,
  display: string | undefined,
): Promise<{ nodeId: string; folder: string }> {
  const data = mkdtempSync(join(tmpdir(), 'outrigger-demo-'));
  stack.defer(() => rmSync(data, { recursive: true, force: true }));
  const folder = join(data, 'shared');
  const env = {
    OUTRIGGER_COMPANION_HOME: join(data, 'companion'),
    ...(display === undefined ? {} : { DISPLAY: display }),
  };
  const nodeId = await pairCompanion(api, { name: 'Demo machine', hubUrl: demo.url, folder, env, signal: demo.signal });
  stack.defer(async () => {
    await api.call('deleteAutomationNode', { params: { id: nodeId } }).catch(() => undefined);
  });
  const log = join(demo.home, 'companion.log');
  const running = stack.use(start(process.execPath, [companionCli, 'run'], { output: { file: log }, env }));
  const findFailure = () => (hasEnded(running.child) ? `${running.tail()} (log: ${relative('.', log)})` : null);
  const online = async () =>
    (await api.call('listAutomationNodes', { query: { status: 'online' } })).data.some(
      ({ id, device }) => id === nodeId && device !== null,
    );
  await waitUntil('The companion did not come online', online, { timeoutMs: 30_000, signal: demo.signal, findFailure });
  await waitUntil('The companion did not connect', async () => running.tail().includes('connected'), {
    timeoutMs: 30_000,
    signal: demo.signal,
    findFailure,
  });
  print(`The companion is paired and online as node ${nodeId}`);
  return { nodeId, folder };
}

async function decide(api: Client, run: Run, { yes, signal }: Demo): Promise<void> {
  const { data } = await api.call('listAutomationApprovals', { query: { status: 'pending', runId: run.id } });
  for (const approval of data) {
    const { argv, cwd, env } = approval.request as { argv?: string[]; cwd?: string; env?: Record<string, string> };
    print(`\n  ${approval.title}`);
    if (argv !== undefined)
      print(
        `    argv  ${JSON.stringify(argv)}\n    cwd   ${cwd ?? 'the home folder'}\n    env   ${env === undefined ? 'nothing added' : JSON.stringify(env)}`,
      );
    let approved = yes;
    if (yes) print('    approved by --yes');
    else if (process.stdin.isTTY) {
      const lines = createInterface({ input: process.stdin, output: process.stdout });
      approved = /^y(es)?$/i.test((await lines.question('    Approve? [y/N] ', { signal })).trim());
      lines.close();
    } else print('    rejected: no terminal to ask on; use --yes');
    print();
    await api.call('decideAutomationApproval', {
      params: { id: approval.id },
      body: { decision: approved ? 'approved' : 'rejected' },
    });
  }
}

/** Runs the demo workflow and returns the finished run. */
async function runWorkflow(
  api: Client,
  approvals: Client,
  demo: Demo,
  nodeId: string,
  folder: string,
  pageUrl: string,
): Promise<Run> {
  const steps = demoSteps(nodeId, folder, pageUrl);
  const workflow = await api.call('createAutomationWorkflow', {
    body: { name: 'Demo: a look at a machine', stepsJson: steps.map(({ step }) => step) },
  });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id: workflow.id } }));
  print(`\nRun ${runId}`);
  const noColor = process.env['NO_COLOR'];
  const timeline = new Timeline(
    steps.map(({ title }) => title),
    process.stdout.isTTY && (noColor === undefined || noColor === ''),
  );
  let progress = '';
  let progressAt = performance.now();
  for (;;) {
    demo.signal.throwIfAborted();
    const run = await api.call('getAutomationRun', { params: { id: runId } }, { signal: demo.signal });
    timeline.update(run);
    if (run.status === 'waiting_approval') await decide(approvals, run, demo);
    const now = run.stepsResultJson.map(({ status }) => status).join();
    if (run.status === 'waiting_approval' || now !== progress) {
      progress = now;
      progressAt = performance.now();
    } else if (performance.now() - progressAt > stepDeadlineMs) {
      const current = steps[run.stepsResultJson.findIndex(({ status }) => status === 'running')]?.title ?? 'The run';
      throw new DemoError(
        `"${current}" made no progress for ${stepDeadlineMs / 1000} s (log: ${relative('.', join(demo.home, 'companion.log'))})`,
      );
    }
    if (['succeeded', 'failed', 'cancelled'].includes(run.status)) return run;
    await new Promise((done) => setTimeout(done, 150));
  }
}

async function savePictures(key: string, demo: Demo, run: Run): Promise<string[]> {
  const folder = join(demo.home, 'demo');
  mkdirSync(folder, { recursive: true });
  const names = ['screen.png', 'page.png'];
  const paths: string[] = [];
  for (const step of run.stepsResultJson) {
    const { artifactId } = (step.output ?? {}) as { artifactId?: string };
    const name = names[paths.length];
    if (artifactId === undefined || name === undefined) continue;
    const response = await fetch(`${demo.url}/v1/automations/artifacts/${artifactId}`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(30_000),
    });
    if (!response.ok) throw new DemoError(`The picture of step ${step.index} could not be read: ${response.status}`);
    const path = join(folder, name);
    writeFileSync(path, Buffer.from(await response.arrayBuffer()));
    paths.push(path);
  }
  return paths;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { yes: { type: 'boolean' }, exit: { type: 'boolean' }, help: { type: 'boolean' } },
    allowPositionals: true,
  });
  const [which, ...more] = positionals;
  if ((which !== undefined && which !== 'chat') || more.length > 0)
    throw new DemoError(`unknown demo "${positionals.join(' ')}"; use "chat" or no name`);
  if (values.help === true) {
    print(help);
    return 0;
  }
  const stop = new AbortController();
  onStopRequest({ onStop: () => stop.abort(new DemoError('stopped')) });
  const home = resolve(process.env['OUTRIGGER_HOME'] ?? '.outrigger');
  mkdirSync(home, { recursive: true });
  const url = process.env['PUBLIC_URL'] ?? `http://127.0.0.1:${process.env['PORT'] ?? '4400'}`;
  const demo: Demo = { home, url, signal: stop.signal, yes: values.yes === true };

  await using stack = new AsyncDisposableStack();
  if (which === 'chat') return await demoChat(stack, demo, values.exit !== true);
  await installTools(demo);
  await ensureHub(stack, demo);
  const { id: keyId, key } = await createToken(demo, 'automations');
  const api = createClient({ baseUrl: url, fetch, token: key });
  // The key that starts a run cannot decide its approval, so the user at the terminal decides with a second key.
  const approver = await createToken(demo, 'automations', 'approvals:decide');
  const approvals = createClient({ baseUrl: url, fetch, token: approver.key });
  const display = await ensureScreen(stack, demo);
  const page = stack.use(await servePage());
  const { nodeId, folder } = await startCompanion(stack, demo, api, display);
  const run = await runWorkflow(api, approvals, demo, nodeId, folder, page.url);
  const pictures = await savePictures(key, demo, run);
  for (const id of [keyId, approver.id]) await hubCommand(demo, 'token', 'revoke', id);
  const steps = run.stepsResultJson;
  const done = steps.filter(({ status }) => status === 'succeeded').length;
  print(
    `\n${run.status === 'succeeded' ? 'Every step succeeded' : `The run ${run.status}`}: ${done} of ${steps.length} steps`,
  );
  for (const path of pictures) print(`  picture  ${relative('.', path)}`);
  print(`  run      ${url}/app/runs/${run.id}`);
  const success = run.status === 'succeeded' && done === steps.length;
  if (values.exit !== true && !stop.signal.aborted) {
    const link = await hubCommand(demo, 'link', '--to', `/app/runs/${run.id}`);
    print(`\nSee the run in the dashboard (the link signs you in once):\n  ${link.trim()}`);
    print(`The hub at ${url} (reference: ${url}/docs) and the companion keep running. Press Ctrl-C to stop both.`);
    await new Promise<void>((ended) => stop.signal.addEventListener('abort', () => ended(), { once: true }));
  }
  return success ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`demo: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
process.exit();
