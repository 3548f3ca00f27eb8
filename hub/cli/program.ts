import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addCallCommands } from './calls.ts';
import { addChatCommands } from './chat.ts';
import { addInstallationCommands } from './installation.ts';
import { addNodeCommands } from './nodes.ts';
import { addPackCommands } from './packs.ts';
import { addPeopleCommands } from './people.ts';
import { addLoginCommands } from './remote-hub.ts';
import { addTokenCommands } from './tokens.ts';
import { addWorkflowCommands } from './workflows.ts';

/** All commands of the hub's command line. */
export const program = new Command('outrigger')
  .description('Manages an Outrigger hub from the command line.')
  .version(packageJson.version)
  .exitOverride()
  .configureHelp({ showGlobalOptions: true });
program
  .command('start')
  .description('start the hub')
  .allowUnknownOption()
  .argument('[options...]')
  .action(async (_options: string[], _parsed: unknown, command: Command) => {
    process.argv.splice(2, process.argv.length, ...command.args);
    await import('../main.ts');
  });

for (const add of [
  addTokenCommands,
  addPeopleCommands,
  addNodeCommands,
  addWorkflowCommands,
  addPackCommands,
  addChatCommands,
  addCallCommands,
  addLoginCommands,
  addInstallationCommands,
])
  add(program);
