import { createHash } from 'node:crypto';
import type { CommandDefinition } from '../../shared/commands/define.ts';
import { approvedRequestText, systemRun } from '../../shared/commands/system.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { PromptAnswer } from '../../shared/companion/state.ts';
import { CommandError } from './commands/handler.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder } from './data-folder.ts';
import { denialOf } from './denial.ts';
import { appVersion } from './facts.ts';
import type { ReceivedCommand } from './hub-answers.ts';
import { assertOwnerAllows } from './owner-consent.ts';
import type { Prompts } from './prompts.ts';

/** Characters of JSON. A hub of this version sends shorter inputs. */
const maxInputLength = 2_500_000;

export interface AdmissionDependencies {
  folder: DataFolder;
  nodeId: string;
  prompts: Prompts | undefined;
  signal: AbortSignal;
  /** Called before the owner is asked. */
  onAsk: () => void;
  /** Called with the owner's answer and the command line that the owner was asked about. */
  onAnswer: (answer: PromptAnswer, words: string) => void;
}

/**
 * Resolves to a command's parsed input and the settings under which it may start.
 * @throws CommandError when the command may not start; the signal's reason.
 */
export async function admit(
  command: ReceivedCommand,
  known: CommandDefinition | undefined,
  { folder, nodeId, prompts, signal, onAsk, onAnswer }: AdmissionDependencies,
): Promise<{ definition: CommandDefinition; input: unknown; settings: LocalSettings }> {
  const definition = known;
  if (definition === undefined)
    throw new CommandError(
      'unknown_command',
      `This companion (${appVersion}) does not know ${command.type.slice(0, 100)}; update it.`,
    );
  if (JSON.stringify(command.input).length > maxInputLength)
    throw new CommandError('too_large', `The input has more than ${maxInputLength} characters, too many to review.`);
  const parsed = definition.input.safeParse(command.input);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CommandError(
      'invalid_input',
      `input${issue === undefined || issue.path.length === 0 ? '' : `.${issue.path.join('.')}`} ${issue?.message ?? 'is not valid'}`,
    );
  }
  const assertNotDenied = () => {
    const settings = settingsOf(folder);
    const denied = denialOf(definition, parsed.data, settings);
    if (denied !== null) throw denied;
    return settings;
  };
  let settings = assertNotDenied();
  if (definition.needsApproval) assertApproved(command, nodeId);
  if (definition.type === systemRun.type) {
    const { approval, id: commandId, endsInMs, origin = null } = command;
    const input = systemRun.input.parse(command.input);
    await assertOwnerAllows(
      { commandId, input, approvedBy: approval?.approvedBy ?? null, origin, endsInMs },
      { folder, prompts, signal, onAsk, onAnswer },
    );
    // The owner may have changed the settings while the prompt was open.
    settings = assertNotDenied();
  }
  return { definition, input: parsed.data, settings };
}

function settingsOf(folder: DataFolder): LocalSettings {
  try {
    return folder.settingsInForce();
  } catch (error) {
    if (error instanceof CompanionError) throw new CommandError('denied_by_device', error.message, { cause: error });
    throw error;
  }
}

/** An approval is valid only for exactly this request on this node. */
function assertApproved({ input, approval }: ReceivedCommand, nodeId: string): void {
  if (approval === undefined)
    throw new CommandError('approval_mismatch', 'The command has no approval, which it needs.');
  const text = approvedRequestText(nodeId, systemRun.input.parse(input));
  const hash = createHash('sha256').update(text).digest('hex');
  if (hash !== approval.requestHash)
    throw new CommandError('approval_mismatch', 'The command would run something other than what was approved.');
}
