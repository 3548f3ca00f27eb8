import { createServer } from 'node:net';
import type { Command } from 'commander';
import { settingsTable } from '../config.ts';
import type { Config } from '../config.ts';
import { readFolderOwner } from '../platform/data-folder.ts';
import { explain, json, loadConfig, withApp } from './context.ts';
import { print } from './terminal.ts';

interface Check {
  check: string;
  ok: boolean;
  detail: string;
}

const bindingsTimeoutMs = 120_000;

/** What this installation is set to, and whether it can run. */
export function addInstallationCommands(program: Command): void {
  program
    .command('settings')
    .description('list every setting')
    .action(() => {
      process.stdout.write(`${settingsTable()}\n`);
    });

  program
    .command('doctor')
    .description('check what the hub needs; calls its model and its speech once each')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const checks: Check[] = [];
      const attempt = async (check: string, run: () => Promise<string> | string) => {
        try {
          checks.push({ check, ok: true, detail: await run() });
        } catch (error) {
          checks.push({ check, ok: false, detail: explain(error) });
        }
      };
      await attempt('Node.js', () => process.version);
      await attempt('settings', () => `data folder ${loadConfig().home}`);
      await attempt('database', () => withApp(async () => 'answers'));
      await attempt('port', async () => {
        const { http, home } = loadConfig();
        const owner = readFolderOwner(home);
        if (owner !== null && owner.url !== 'command') return `the hub runs at ${owner.url ?? 'an unknown address'}`;
        await new Promise<void>((done, reject) => {
          const probe = createServer().once('error', reject);
          probe.listen(http.port, http.host, () => probe.close(() => done()));
        });
        return `${http.port} is free`;
      });
      await checkBindings(checks);
      print(
        checks,
        options.json,
        checks.map(({ check, ok, detail }) => `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(14)} ${detail}`).join('\n'),
      );
      if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
    });
}

/** Adds what calls of the model and of speech come to; settings that can't be used are told of before. */
async function checkBindings(checks: Check[]): Promise<void> {
  let config: Config;
  try {
    config = loadConfig();
  } catch {
    return;
  }
  try {
    const { examineBindings } = await import('../products/ai/index.ts');
    checks.push(...(await examineBindings(config, { signal: AbortSignal.timeout(bindingsTimeoutMs) })));
  } catch (error) {
    checks.push({ check: 'bindings', ok: false, detail: explain(error) });
  }
}
