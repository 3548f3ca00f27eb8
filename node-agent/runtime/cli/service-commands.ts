import { describeService, describeUnit, installService, serviceProgram, uninstallService } from '../service.ts';
import { json } from './context.ts';
import type { CliContext } from './context.ts';

/** Adds `service` to the command line. */
export function addServiceCommands({ program, dataFolder, print }: CliContext): void {
  const service = program.command('service').description('run the companion as a systemd service of your user (Linux)');
  const unit = () => describeUnit(dataFolder().path, serviceProgram(), process.env);
  const add = (name: string, description: string, carryOut: () => Promise<string>) =>
    service
      .command(name)
      .description(description)
      .addOption(json())
      .action(async (options: { json?: boolean }) => {
        const text = await carryOut();
        const { name: unitName, path } = unit();
        print({ unit: unitName, path, text }, options.json, text);
      });
  add('install', 'write a unit, start it now and at each login', () =>
    installService(unit(), dataFolder().readPairing() !== null),
  );
  add('uninstall', 'stop it and remove the unit; the machine stays paired', () => uninstallService(unit()));
  add('status', 'show whether the unit is installed and runs', () => describeService(unit()));
}
