import { commands, isCommandType } from '../../shared/commands/catalog.ts';
import type { CommandDefinition } from '../../shared/commands/define.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import { whyNotShared } from './commands/files.ts';
import { CommandError } from './commands/handler.ts';
import { powerDenial } from './denial.ts';
import type { FinishedCommand } from './journal.ts';

/**
 * Why the owner's settings no longer let a result be sent to the hub, or null. A result that only states that a command
 * acted is always sent.
 */
export async function resultDenial(
  { result, artifacts, source }: FinishedCommand,
  settings: LocalSettings,
): Promise<CommandError | null> {
  if (result.status !== 'succeeded' || source === undefined || !isCommandType(source.type)) return null;
  if (source.acts && artifacts.length === 0) return null;
  const denied =
    powerDenial(commands[source.type] as CommandDefinition, settings) ??
    (source.file === undefined ? null : await whyNotShared(source.file, settings));
  return denied === null ? null : withheld(source, denied);
}

function withheld({ type, acts }: NonNullable<FinishedCommand['source']>, cause: CommandError): CommandError {
  return new CommandError(
    'interrupted',
    `${cause.message.replace(/\.?$/, '.')} ${type} had ended, and its result was not sent to the hub${acts ? '; look at the machine before you retry' : ''}.`,
    { cause, reason: cause.code === 'paused' ? 'owner_paused' : 'owner_denied' },
  );
}
