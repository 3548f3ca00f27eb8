import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../shared/client/client.ts';
import { runToEnd } from './processes.ts';

export const companionCli = fileURLToPath(new URL('../../node-agent/runtime/cli.ts', import.meta.url));

/**
 * Pairs a companion that allows the screen, the browser and the program `uname`, and shares a folder with two files.
 * Returns the node id.
 */
export async function pairCompanion(
  api: Client,
  {
    name,
    hubUrl,
    folder,
    env,
    signal,
  }: { name: string; hubUrl: string; folder: string; env: Record<string, string>; signal: AbortSignal },
): Promise<string> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'logbook.txt'), 'Day 1: left the harbour at dawn.\n');
  writeFileSync(join(folder, 'chart.csv'), 'buoy,depth\nnorth,12\nsouth,9\n');
  const companion = (...args: string[]) => runToEnd(process.execPath, [companionCli, ...args], { env, signal });
  const { nodeId, pairingCode } = await api.call('createAutomationNode', {
    body: { name, allowBrowser: true, allowSystem: true },
  });
  await companion('pair', pairingCode, '--hub', hubUrl, '--force');
  await companion('share', folder);
  await companion('allow', 'screen');
  await companion('allow', 'browser', ...(process.getuid?.() === 0 ? ['--without-sandbox'] : []));
  // The demo page is served on this machine.
  await companion('hosts', '--private', 'localhost');
  // The hub asks for the approval in the demo. The companion would ask again on a screen that the user may not see,
  // so it allows only the program of the demo, without asking.
  await companion('allow', 'system', '--program', 'uname', '--no-ask', '--yes');
  return nodeId;
}
