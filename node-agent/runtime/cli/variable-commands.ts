import { isRiskyVariable, riskyVariableWarning } from '../../../shared/companion/consent-warnings.ts';
import { confirm } from './consent.ts';
import { change, json } from './context.ts';
import type { CliContext } from './context.ts';

/** Adds `variables` to the command line. */
export function addVariableCommands({ program, dataFolder, print }: CliContext): void {
  const variables = program
    .command('variables')
    .description('show the variables that workflows may set for programs, in addition to the harmless ones')
    .addOption(json())
    .action((options: { json?: boolean }) => {
      const names = dataFolder().settingsInForce().system.variables;
      print(names, options.json, names.join('\n') || 'You allowed no variables.');
    });
  variables
    .command('allow')
    .description('let workflows set variables for programs')
    .argument('<names...>', 'names of variables, such as API_TOKEN')
    .option('--yes', 'confirm names that can load code, such as PATH, without a question')
    .addOption(json())
    .action(
      async (names: string[], _given: unknown, command: { optsWithGlobals(): { json?: boolean; yes?: boolean } }) => {
        const { json: asJson, yes } = command.optsWithGlobals();
        const risky = names.filter(isRiskyVariable);
        if (risky.length > 0) await confirm(`${risky.join(', ')} ${riskyVariableWarning}`, yes === true);
        const settings = await change(dataFolder(), {
          change: 'variables',
          mode: 'add',
          names,
          ...(risky.length > 0 ? { isRisky: true } : {}),
        });
        print(settings.system.variables, asJson, `Workflows may set ${names.join(', ')} for programs now.`);
      },
    );
  variables
    .command('remove')
    .description('remove variables from the list')
    .argument('<names...>', 'names of variables, such as API_TOKEN')
    .addOption(json())
    .action(async (names: string[], _given: unknown, command: { optsWithGlobals(): { json?: boolean } }) => {
      const settings = await change(dataFolder(), { change: 'variables', mode: 'remove', names });
      print(
        settings.system.variables,
        command.optsWithGlobals().json,
        `Workflows may not set ${names.join(', ')} for programs any more.`,
      );
    });
}
