import type { Command } from 'commander';
import { nodes as nodesContract } from '../../shared/contract/nodes/nodes.ts';
import { visibleLine } from '../../shared/visible-text.ts';
import { commandLines } from '../platform/process/command-lines.ts';
import { actor, hubAddress, json, validate, withApp, workspace } from './context.ts';
import type { CommonOptions } from './context.ts';
import { print, table } from './terminal.ts';

/** Commands that pair and list companion nodes. */
export function addNodeCommands(program: Command): void {
  const node = program.command('node').description('companion nodes');
  node
    .command('pair')
    .description('create a pairing code for a machine')
    .addOption(workspace())
    .option('--name <name>', 'name of the node; the name of the machine when omitted')
    .option('--allow-system', 'let workflows run approved commands on the machine')
    .option('--allow-browser', 'let workflows control its browser')
    .addOption(json())
    .action(async (options: CommonOptions & { name?: string; allowSystem?: boolean; allowBrowser?: boolean }) => {
      const { workspace: wanted, json: _json, ...given } = options;
      const body = validate(nodesContract.createAutomationNode.body, given);
      const { pairing, hub } = await withApp(async ({ identity, nodes }, config) => {
        const { id } = await identity.findWorkspace(wanted);
        const address = hubAddress(config);
        return { pairing: await nodes.createPairing(id, body, address, actor), hub: address };
      });
      print(
        pairing,
        options.json,
        `${pairing.pairingCode}\n\nOn that machine, within 10 minutes:\n  ${commandLines.companion} pair ${pairing.pairingCode} --hub ${hub}\n  ${commandLines.companion} run\n\nOr, if the companion app is installed there, open this link:\n  ${pairing.pairingUri}`,
      );
    });
  node
    .command('list')
    .description('list the nodes of a workspace')
    .addOption(workspace())
    .addOption(json())
    .action(async (options: CommonOptions) => {
      const { data } = await withApp(async ({ identity, nodes }) =>
        nodes.list((await identity.findWorkspace(options.workspace)).id, { limit: 100 }),
      );
      print(
        data,
        options.json,
        table(
          data.map((row) => ({
            id: row.id,
            name: visibleLine(row.name),
            status: row.status,
            system: row.allowSystem ? 'allowed' : '-',
            browser: row.allowBrowser ? 'allowed' : '-',
            seen: row.lastSeenAt ?? 'never',
          })),
        ),
      );
    });
}
