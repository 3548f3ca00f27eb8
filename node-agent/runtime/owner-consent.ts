import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { commandLine } from '../../shared/command-line.ts';
import type { CommandOrigin } from '../../shared/commands/origin.ts';
import type { systemRun } from '../../shared/commands/system.ts';
import { systemRun as definition } from '../../shared/commands/system.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { EndReason, PromptAnswer } from '../../shared/companion/state.ts';
import { CommandError } from './commands/handler.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder } from './data-folder.ts';
import { addRule } from './owner-changes.ts';
import {
  decideProgram,
  folderOf,
  isAllowedElsewhere,
  needsFacts,
  programFacts,
  programOf,
  wasAllowedForAnother,
} from './program-rules.ts';
import type { Prompts } from './prompts.ts';

const halfAnHourMs = 30 * 60_000;

/** Each answer in words, for the owner's log. */
export const answerWords: Record<PromptAnswer, string> = {
  deny: 'denied',
  once: 'allowed once',
  '30_minutes': 'allowed for 30 minutes',
  always: 'always allowed',
  never: 'never allowed',
};

interface ProgramRequest {
  commandId: string;
  input: z.output<typeof systemRun.input>;
  approvedBy: string | null;
  origin: CommandOrigin | null;
  /** Milliseconds for which the hub waits for the result, from now on. Undefined when the hub does not send it. */
  endsInMs?: number | undefined;
}

export interface OwnerConsentDependencies {
  folder: DataFolder;
  prompts: Prompts | undefined;
  signal: AbortSignal;
  /** Called before the owner is asked. */
  onAsk?: () => void;
  /** Called with the owner's answer and the command line that the owner was asked about. */
  onAnswer: (answer: PromptAnswer, words: string) => void;
}

/**
 * Resolves when the owner of this machine allows a program to run: by a rule, or by the answer to a prompt. Call it
 * after the hub's approval was checked, so that the owner is not asked about a command that is refused anyway.
 * @throws CommandError `denied_by_device` when the owner does not allow it; the signal's reason.
 */
export async function assertOwnerAllows(
  { commandId, input, approvedBy, origin, endsInMs }: ProgramRequest,
  { folder, prompts, signal, onAsk, onAnswer }: OwnerConsentDependencies,
): Promise<void> {
  const cwd = folderOf(input);
  const settings = folder.settingsInForce();
  const { system } = settings;
  if (!needsFacts(system)) {
    if (decideProgram(input, { program: programOf(input), exact: null }, settings) === 'deny')
      throw denied(refusedForGood);
    return;
  }
  const facts = await programFacts(input, cwd, signal);
  const decision = decideProgram(input, facts, settings);
  if (decision === 'deny') throw denied(refusedForGood);
  if (decision === 'ask') {
    if (prompts === undefined)
      throw denied(
        'The owner of this machine wants to be asked, but the companion cannot ask here.',
        'owner_not_asked',
      );
    onAsk?.();
    const timeoutMs = input.timeoutMs ?? definition.timeoutMs;
    const answer = await prompts.ask(
      {
        commandId,
        program: facts.program,
        programSha256: facts.sha256,
        argv: input.argv,
        cwd,
        env: input.env ?? {},
        stdin: input.stdin ?? null,
        timeoutMs,
        approvedBy,
        origin,
        reason: wasAllowedForAnother(input.argv, facts, system)
          ? 'program_changed'
          : isAllowedElsewhere(input, facts.program, system)
            ? 'other_folder'
            : 'no_rule',
      },
      // The program needs its time limit after the answer.
      { key: facts.exact, signal, ...(endsInMs === undefined ? {} : { endsInMs: endsInMs - timeoutMs }) },
    );
    try {
      if (answer === '30_minutes' || answer === 'always' || answer === 'never')
        await remember(folder, answer, input.argv, facts.exact);
    } finally {
      onAnswer(answer, commandLine(input.argv));
    }
    if (answer === 'deny' || answer === 'never')
      throw denied('The owner of this machine was asked, and said no.', 'owner_said_no');
  }
  // The file may have been replaced while it was hashed and while the prompt was open.
  if ((await programFacts(input, folderOf(input), signal)).exact !== facts.exact)
    throw denied(`${facts.program} changed while the owner of this machine was asked about it.`);
}

/** Why a running program must end because a rule of the owner now refuses it. Null when no rule does. */
export async function ruleDenial(type: string, input: unknown, settings: LocalSettings): Promise<CommandError | null> {
  const { system } = settings;
  if (type !== definition.type || !system.rules.some(({ decision }) => decision === 'deny')) return null;
  const run = definition.input.parse(input);
  try {
    const facts = needsFacts(system)
      ? await programFacts(run, folderOf(run), AbortSignal.timeout(lookDeadlineMs))
      : { program: programOf(run), exact: null };
    return decideProgram(run, facts, settings) === 'deny' ? denied(refusedForGood) : null;
  } catch {
    // When the file no longer exists, or is too large to read in time, only the name is compared.
    const program = run.argv[0] as string;
    return decideProgram(run, { program, exact: null }, settings) === 'deny' ? denied(refusedForGood) : null;
  }
}

const lookDeadlineMs = 5_000;
const refusedForGood = 'The owner of this machine refuses this program for good.';

async function remember(
  folder: DataFolder,
  answer: '30_minutes' | 'always' | 'never',
  argv: string[],
  exact: string,
): Promise<void> {
  const now = folder.now();
  const until = answer === '30_minutes' ? new Date(now + halfAnHourMs).toISOString() : null;
  // The pattern is only for display. The hash decides.
  const pattern = commandLine(argv).slice(0, 2_000);
  const id = randomUUID();
  try {
    await folder.changeSettings((settings) =>
      addRule(settings, { id, decision: answer === 'never' ? 'deny' : 'allow', pattern, exact, until }, now),
    );
  } catch (error) {
    if (!(error instanceof CompanionError)) throw error;
    throw denied(`What the owner of this machine said could not be kept: ${error.message}`);
  }
}

const denied = (message: string, reason?: EndReason) =>
  new CommandError('denied_by_device', message, reason === undefined ? {} : { reason });
