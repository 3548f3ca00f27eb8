import { homedir } from 'node:os';
import type { z } from 'zod';
import type { systemRun } from '../../shared/commands/system.ts';
import { systemRun as definition } from '../../shared/commands/system.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import { CommandError } from './commands/handler.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder } from './data-folder.ts';
import { addRule } from './owner-changes.ts';
import { commandLine, decideProgram, programFacts, wasAllowedForAnother } from './program-rules.ts';
import type { Prompts } from './prompts.ts';

const halfAnHourMs = 30 * 60_000;

interface AskedCommand {
  commandId: string;
  input: z.output<typeof systemRun.input>;
  approvedBy: string | null;
}

/**
 * Resolves once the owner of this machine lets a program run: by a rule, or by what they answer now. Asked after the hub's own approval was checked, so that
 * nobody is asked for what would be refused anyway.
 * @throws CommandError `denied_by_device` when they do not; the signal's reason.
 */
export async function assertOwnerAllows(
  { commandId, input, approvedBy }: AskedCommand,
  { folder, prompts, signal }: { folder: DataFolder; prompts: Prompts | undefined; signal: AbortSignal },
): Promise<void> {
  const cwd = input.cwd ?? homedir();
  const facts = programFacts(input, cwd);
  const { system } = folder.settingsInForce();
  const decision = decideProgram(input, facts, system);
  if (decision === 'allow') return;
  if (decision === 'deny') throw denied(refusedForGood);
  if (prompts === undefined) throw denied('The owner of this machine wants to be asked, and nobody here can ask them.');
  const answer = await prompts.ask(
    {
      commandId,
      program: facts.program,
      programSha256: facts.sha256,
      argv: input.argv,
      cwd,
      env: input.env ?? {},
      stdin: input.stdin ?? null,
      timeoutMs: input.timeoutMs ?? definition.timeoutMs,
      approvedBy,
      reason: wasAllowedForAnother(input.argv, facts, system) ? 'program_changed' : 'no_rule',
    },
    signal,
  );
  if (answer === '30_minutes' || answer === 'always' || answer === 'never')
    remember(folder, answer, input.argv, facts.exact);
  if (answer === 'deny' || answer === 'never') throw denied('The owner of this machine was asked, and said no.');
  // While they read, somebody may have put another file there.
  if (programFacts(input, cwd).exact !== facts.exact)
    throw denied(`${facts.program} changed while the owner of this machine was asked about it.`);
}

/** Why a program that is under way has to end, because a rule of the owner's refuses it now; null when none does. */
export function refusalOf(type: string, input: unknown, { system }: LocalSettings): CommandError | null {
  if (type !== definition.type || !system.rules.some(({ decision }) => decision === 'deny')) return null;
  const run = definition.input.parse(input);
  try {
    const facts = programFacts(run, run.cwd ?? homedir());
    return decideProgram(run, facts, system) === 'deny' ? denied(refusedForGood) : null;
  } catch {
    // Its file is gone; then only its name can be judged, and nothing more begins by it.
    return null;
  }
}

const refusedForGood = 'The owner of this machine refuses this program for good.';

function remember(folder: DataFolder, answer: '30_minutes' | 'always' | 'never', argv: string[], exact: string): void {
  const now = Date.now();
  const until = answer === '30_minutes' ? new Date(now + halfAnHourMs).toISOString() : null;
  // Too long to be shown in a list, it still is decided by its hash.
  const pattern = commandLine(argv).slice(0, 2_000);
  try {
    folder.changeSettings((settings) =>
      addRule(settings, { decision: answer === 'never' ? 'deny' : 'allow', pattern, exact, until }, now),
    );
  } catch (error) {
    if (!(error instanceof CompanionError)) throw error;
    throw denied(`What the owner of this machine said could not be kept: ${error.message}`);
  }
}

const denied = (message: string) => new CommandError('denied_by_device', message);
