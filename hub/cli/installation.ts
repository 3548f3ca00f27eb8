import { createServer } from 'node:net';
import type { Command } from 'commander';
import type { App } from '../app.ts';
import { settingsTable } from '../config.ts';
import type { Config } from '../config.ts';
import { listen } from '../platform/http/listen.ts';
import { builtFiles } from '../platform/http/pages/built-files.ts';
import { readFolderOwner } from '../platform/process/data-folder.ts';
import { explain, json, loadConfig, withApp } from './context.ts';
import { print } from './terminal.ts';

interface Check {
  check: string;
  /** Null when the check was not run. */
  ok: boolean | null;
  detail: string;
}

const bindingsTimeoutMs = 120_000;
/** Checks that require valid settings. */
const checksThatNeedSettings = ['database', 'port', 'model', 'text-to-speech', 'speech-to-text', 'SIP server'];

/** Commands that show the settings and check the installation. */
export function addInstallationCommands(program: Command): void {
  program
    .command('settings')
    .description('list every setting')
    .action(() => {
      process.stdout.write(`${settingsTable()}\n`);
    });

  program
    .command('doctor')
    .description('check what the hub needs; calls the model, the speech services and the SIP server once each')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const checks = [
        await attempt('Node.js', () => process.version),
        await attempt('pages', () => {
          builtFiles();
          return 'chat, voice and phone are built';
        }),
        ...(await examine()),
      ];
      const line = ({ check, ok, detail }: Check) =>
        `${ok === null ? '-   ' : ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(14)} ${detail}`;
      print(checks, options.json, checks.map(line).join('\n'));
      if (checks.some(({ ok }) => ok === false)) process.exitCode = 1;
    });
}

async function attempt(check: string, run: () => Promise<string> | string): Promise<Check> {
  try {
    return { check, ok: true, detail: await run() };
  } catch (error) {
    return { check, ok: false, detail: explain(error) };
  }
}

async function examine(): Promise<Check[]> {
  let config: Config;
  try {
    config = loadConfig();
  } catch (error) {
    const detail = 'not checked: requires valid settings';
    return [
      { check: 'settings', ok: false, detail: explain(error) },
      ...checksThatNeedSettings.map((check) => ({ check, ok: null, detail })),
    ];
  }
  return [
    { check: 'settings', ok: true, detail: `data folder ${config.home}` },
    await attempt('database', () => withApp(examineDatabase)),
    await attempt('port', () => examinePort(config)),
    ...(await examineCalls(config)),
    await attempt('SIP server', async () => {
      const { examineSipServer } = await import('../products/calls/index.ts');
      return examineSipServer(config.sip.server, config.sip.dial.emergency);
    }),
  ];
}

async function examineDatabase({ adviseOnDatabase }: App, config: Config): Promise<string> {
  const { summary, warnings } = await adviseOnDatabase(config);
  return [`answers; ${summary}`, ...warnings.map((warning) => `warning: ${warning}`)].join(`\n${' '.repeat(22)}`);
}

async function examinePort({ http, home }: Config): Promise<string> {
  const owner = readFolderOwner(home);
  if (owner !== null && owner.url !== 'command') return `the hub runs at ${owner.url ?? 'an unknown address'}`;
  await using probe = createServer();
  try {
    await listen(probe, http.host, http.port);
  } catch (error) {
    // A hub with an external database does not lock the data folder of this command.
    const host = ['0.0.0.0', '::'].includes(http.host) ? '127.0.0.1' : http.host;
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`;
    if (await isHub(url)) return `a hub answers at ${url}`;
    throw error;
  }
  return `${http.port} is free`;
}

const healthDeadlineMs = 10_000;

/** Whether a hub answers at a URL of this machine. */
async function isHub(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(healthDeadlineMs) });
    const health = (await answer.json()) as { status?: unknown; version?: unknown; uptimeSeconds?: unknown };
    return answer.ok && health.status === 'ok' && typeof health.version === 'string';
  } catch {
    return false;
  }
}

/** Checks the model and the speech services by calling them. */
async function examineCalls(config: Config): Promise<Check[]> {
  try {
    const { examineBindings } = await import('../products/ai/index.ts');
    return await examineBindings(config, { signal: AbortSignal.timeout(bindingsTimeoutMs) });
  } catch (error) {
    return [{ check: 'bindings', ok: false, detail: explain(error) }];
  }
}
