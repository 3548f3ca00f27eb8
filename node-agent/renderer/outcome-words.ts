import type { EndReason, HistoryEntry } from '../../shared/companion/state.ts';
import type { Tone } from './words.ts';

/** An entry of the history. Entries of older versions lack `began`. */
export type PastEntry = Omit<HistoryEntry, 'began'> & { began?: boolean };

/** Whether an entry records an action of the owner instead of a command. */
export const isOwnerEntry = ({ type }: Pick<HistoryEntry, 'type'>): boolean => type.startsWith('owner.');

const outcomeWords: Record<string, readonly [words: string, tone: Tone]> = {
  succeeded: ['Done', 'good'],
  done: ['Done', 'good'],
  denied_by_device: ['Refused: not allowed on this machine', 'warning'],
  denied_by_policy: ['Refused by your rules', 'warning'],
  outside_shared_folders: ['Refused: not in a shared folder', 'warning'],
  paused: ['Refused: you had paused', 'warning'],
  approval_mismatch: ['Refused: not what was approved', 'warning'],
  approval_not_signed: ['Refused: not signed', 'warning'],
  permission_needed: ['The system does not permit it', 'warning'],
  approval_required: ['Refused: not approved', 'warning'],
  protected_path: ['Refused: a hidden file, a key store or a browser profile', 'warning'],
  audit_unavailable: ['Refused: the log cannot be written', 'bad'],
  program_runs: ['Refused: a program of a workflow is running', 'warning'],
  not_begun: ['Interrupted before it started', 'plain'],
  interrupted: ['Interrupted after it started', 'warning'],
  begun: ['Started: its end is not recorded', 'warning'],
  exit_code: ['The program failed', 'bad'],
  invalid_input: ['Refused: the hub sent an invalid command', 'bad'],
  storage_full: ['The disk is full', 'bad'],
  answer_too_large: ['The answer is too large', 'bad'],
  withdrawn: ['Cancelled by the hub', 'plain'],
  timeout: ['Took too long', 'bad'],
  tool_missing: ['A program is missing', 'bad'],
  not_found: ['Not found', 'bad'],
  target_not_found: ['Not found in the page', 'bad'],
  navigation_failed: ['The page did not open', 'bad'],
  page_closed: ['The page was already closed', 'bad'],
  page_of_another_run: ['Refused: the page of another run', 'warning'],
  too_many_pages: ['Too many pages are open', 'bad'],
  too_large: ['Too large', 'bad'],
  outcome_unknown: ['Interrupted: its effect is unknown', 'bad'],
};

/** Texts for a command that had started: it was ended, not refused. */
const endedWords: Record<string, readonly [words: string, tone: Tone]> = {
  denied_by_device: ['Ended: no longer allowed', 'warning'],
  denied_by_policy: ['Ended by your rules', 'warning'],
  outside_shared_folders: ['Ended: no longer in a shared folder', 'warning'],
  paused: ['Ended: you paused', 'warning'],
  withdrawn: ['Ended: cancelled by the hub', 'plain'],
  timeout: ['Ended: took too long', 'bad'],
};

/** Texts for reasons, which are more specific than outcome codes. */
const reasonWords: Record<EndReason, readonly [words: string, tone: Tone]> = {
  owner_said_no: ['You denied it', 'warning'],
  owner_did_not_answer: ['Refused: you did not answer in time', 'warning'],
  owner_not_asked: ['Refused: you could not be asked', 'warning'],
  owner_paused: ['Ended: you paused', 'warning'],
  owner_denied: ['Ended: no longer allowed', 'warning'],
  companion_stopped: ['Ended: the companion was stopped', 'plain'],
};

type OutcomeFields = Pick<PastEntry, 'outcome' | 'reason' | 'began'>;

/** Text and tone for the outcome of a command. */
export function describeOutcome({ outcome, reason, began }: OutcomeFields): readonly [words: string, tone: Tone] {
  if (reason !== null) return reasonWords[reason];
  const words = began === true && Object.hasOwn(endedWords, outcome) ? endedWords : outcomeWords;
  return (Object.hasOwn(words, outcome) ? words[outcome] : undefined) ?? ['Failed', 'bad'];
}

/**
 * Replacements in messages of the companion. The companion writes them for the hub and the command line;
 * the window shows them to the owner.
 */
const ownerReplacements: readonly (readonly [pattern: RegExp, words: string])[] = [
  [
    / Run it again, and answer on that machine: outrigger-companion prompts .*?outrigger-companion ask off$/g,
    ' Run it again, and answer in this window.',
  ],
  [/\bThe owner of this machine was asked, and /g, 'You were asked, and '],
  [/\bYou were asked, and said no\b/g, 'You said no'],
  [
    /\bThe owner of this machine wants to be asked, but the companion cannot ask here\b/g,
    'You want to be asked, but the companion could not ask here',
  ],
  [
    /\bThe owner of this machine does not allow (.+?); they allow it with: outrigger-companion allow \w+/g,
    'You do not allow $1; you can under Permissions',
  ],
  [/\bThe owner of this machine refuses\b/g, 'You refuse'],
  [/\bThe owner of this machine allows\b/g, 'You allow'],
  [/\bThe owner of this machine (?=[a-z]+(?:ed|ook)\b)/g, 'You '],
  [/\bthe owner of this machine (was|is) asked\b/g, 'you were asked'],
  [/\bthe owner of this machine (?=said\b)/g, 'you '],
  [/^--hub must be\b/, 'The address must be'],
  [/, or --insecure on a network that you trust/g, ', or agree to connect without encryption'],
  [/; unpair it first, or use --force\b/g, '; agree to forget that hub, or unpair it under Settings first'],
  [
    /\b([Pp])air it again with: outrigger-companion pair CODE(?: --force)? --hub \S+/g,
    '$1air it again: unpair it under Settings, then enter a new code',
  ],
  [
    /\b([Pp])air (it first|it|again|anew),?(?: with)?: outrigger-companion pair CODE(?: --force)? --hub \S+/g,
    '$1air $2',
  ],
];

/** Rewords a message of the companion for the window: it addresses the owner and names no command line options. */
export function rewordForOwner(message: string): string {
  let text = message;
  for (const [pattern, words] of ownerReplacements) text = text.replace(pattern, words);
  return text;
}
