import { basename, dirname } from 'node:path';
import { Option } from 'commander';
import type { Command } from 'commander';
import { z } from 'zod';
import { commandLine } from '../../../shared/command-line.ts';
import { onlyDenies } from '../../../shared/companion/control.ts';
import type { OwnerChange } from '../../../shared/companion/control.ts';
import type { LocalSettings } from '../../../shared/companion/settings.ts';
import { visibleJson, visibleText } from '../../../shared/visible-text.ts';
import { askCompanion, ControlRefusal } from '../control/client.ts';
import { refusedToProgram } from '../control/server.ts';
import { CompanionError, DataFolder, folderSuffix } from '../data-folder.ts';
import { changeSettings } from '../owner-changes.ts';
import { isStartedByCommand } from '../process-guard.ts';

/** Dependencies of all commands of the command line. */
export interface CliContext {
  program: Command;
  dataFolder: () => DataFolder;
  /** Prints a value as JSON, or a text. */
  print: (value: unknown, asJson: boolean | undefined, text: string) => void;
}

const isStartedByNpx = basename(dirname(process.argv[1] ?? '')) === '.bin';

/** Makes the commands of a message work here: after a local installation, the shell finds them through `npx` alone. */
export const asTyped = (text: string): string =>
  isStartedByNpx ? text.replaceAll(/(?<![\w/.-])outrigger-companion (?=[a-z])/g, 'npx $&') : text;

/** Options that a command needs to use a data folder, with a space before each. Empty for the default folder. */
export const folderOptions = ({ path }: DataFolder): string =>
  folderSuffix(path) === '' ? '' : ` --data-folder ${commandLine([path])}`;

export const json = () => new Option('--json', 'print JSON');

export function makeContext(program: Command): CliContext {
  return {
    program,
    dataFolder: () =>
      new DataFolder(
        program.opts<{ dataFolder?: string }>().dataFolder ?? (process.env['OUTRIGGER_COMPANION_HOME'] || undefined),
      ),
    print: (value, asJson, text) => {
      process.stdout.write(`${asJson === true ? visibleJson(value, 2) : visibleText(asTyped(text))}\n`);
    },
  };
}

/**
 * Applies a change of the owner: through the running companion, so that it takes effect now, or directly without one.
 */
export async function change(folder: DataFolder, requested: OwnerChange): Promise<LocalSettings> {
  try {
    const state = await askCompanion(folder, 'change', requested);
    if (state !== null) return state.settings;
  } catch (error) {
    // A companion that does not answer still reads the file, and applies what the file denies.
    if (error instanceof ControlRefusal || !onlyDenies(requested)) throw error;
  }
  if (!onlyDenies(requested)) assertOwner();
  return changeSettings(folder, requested);
}

/**
 * Refuses a command that only the owner may run. Needed when no companion runs that would refuse it.
 * @throws CompanionError when a command of a companion started this process.
 */
export function assertOwner(): void {
  if (isStartedByCommand(process.pid)) throw new CompanionError(refusedToProgram);
}

/** Exit code for invalid arguments. */
export const usageExitCode = 2;

const units: Record<string, number> = { m: 1, h: 60, d: 24 * 60 };

/** Parses a time such as `30m`, `8h` or `2d` into minutes. @throws CompanionError */
export function parseMinutes(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const minutes = Number(count) * (units[unit] ?? 0);
  if (!(minutes >= 1 && minutes <= 525_600))
    throw new CompanionError(
      `--for must be a time such as 30m, 8h or 2d, of at most a year (it is "${text.slice(0, 50)}").`,
      { exitCode: usageExitCode },
    );
  return minutes;
}

/** @throws CompanionError for a text that cannot be an ID. */
export function assertId(text: string, what: string, listedBy: string): void {
  if (!z.uuid().safeParse(text).success)
    throw new CompanionError(
      `"${text.slice(0, 100)}" is not the ID of a ${what}; list the IDs with: outrigger-companion ${listedBy}`,
      { exitCode: usageExitCode },
    );
}
