import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
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
  commandLine,
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

/** An answer as the owner's log has it. */
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
  /** How long the hub wants the answer from now on, in milliseconds; undefined where it does not say. */
  endsInMs?: number | undefined;
}

export interface OwnerConsentDependencies {
  folder: DataFolder;
  prompts: Prompts | undefined;
  signal: AbortSignal;
  /** Called before the owner is asked. */
  onAsk?: () => void;
  /** Hears what the owner said, and of which command line. */
  onAnswer: (answer: PromptAnswer, words: string) => void;
}

/**
 * Resolves once the owner of this machine lets a program run: by a rule, or by what they answer now. Asked after the hub's own approval was checked, so that
 * nobody is asked for what would be refused anyway.
 * @throws CommandError `denied_by_device` when they do not; the signal's reason.
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
      throw denied('The owner of this machine wants to be asked, and nobody here can ask them.', 'owner_not_asked');
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
      // What is left after the answer must do for the program.
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
  // While they read, and while it was looked up, somebody may have put another file there.
  if ((await programFacts(input, folderOf(input), signal)).exact !== facts.exact)
    throw denied(`${facts.program} changed while the owner of this machine was asked about it.`);
}

/** Why a program that is under way has to end, because a rule of the owner's refuses it now; null when none does. */
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
    // Its file is gone, or too large to be read in time: then its name has to do.
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
  // Too long to be shown in a list, it still is decided by its hash.
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
