import { createServer } from 'node:net';
import type { Command } from 'commander';
import { settingsTable } from '../config.ts';
import { readFolderOwner } from '../platform/data-folder.ts';
import { explain, json, loadConfig, withApp } from './context.ts';
import { print } from './terminal.ts';

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
    .description('check what the hub needs')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const checks: { check: string; ok: boolean; detail: string }[] = [];
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
      print(
        checks,
        options.json,
        checks.map(({ check, ok, detail }) => `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(10)} ${detail}`).join('\n'),
      );
      if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
    });
}
