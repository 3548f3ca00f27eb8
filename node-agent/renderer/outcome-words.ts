import type { EndReason, HistoryEntry } from '../../shared/companion/state.ts';
import type { Tone } from './words.ts';

/** An entry of the history; one of before it was noted whether a command began does not say so. */
export type PastEntry = HistoryEntry & { began?: boolean };

/** Whether an entry tells of the owner's own doings rather than of a command. */
export const isOwnerEntry = ({ type }: Pick<HistoryEntry, 'type'>): boolean => type.startsWith('owner.');

const outcomeWords: Record<string, readonly [words: string, tone: Tone]> = {
  succeeded: ['Done', 'good'],
  done: ['Done', 'good'],
  denied_by_device: ['Refused: not allowed on this machine', 'warning'],
  denied_by_policy: ['Refused: against your rules', 'warning'],
  outside_shared_folders: ['Refused: not in a shared folder', 'warning'],
  paused: ['Refused: you had paused', 'warning'],
  approval_mismatch: ['Refused: not what was approved', 'warning'],
  approval_not_signed: ['Refused: not signed', 'warning'],
  permission_needed: ['The system does not permit it', 'warning'],
  approval_required: ['Refused: not approved', 'warning'],
  protected_path: ['Refused: a hidden file, a key store or a browser profile', 'warning'],
  audit_unavailable: ['Refused: the log can not be written', 'bad'],
  program_runs: ['Refused: a program of a workflow runs', 'warning'],
  not_begun: ['Cut off before it began', 'plain'],
  interrupted: ['Ended after it began', 'warning'],
  begun: ['Begun: its end is not recorded', 'warning'],
  exit_code: ['The program failed', 'bad'],
  invalid_input: ['Refused: the hub sent something wrong', 'bad'],
  storage_full: ['The disk is full', 'bad'],
  answer_too_large: ['The answer is too large', 'bad'],
  withdrawn: ['Taken back by the hub', 'plain'],
  timeout: ['Took too long', 'bad'],
  tool_missing: ['A program is missing', 'bad'],
  not_found: ['Not found', 'bad'],
  target_not_found: ['Not found in the page', 'bad'],
  navigation_failed: ['The page did not open', 'bad'],
  page_closed: ['The page was closed before', 'bad'],
  page_of_another_run: ['Refused: the page of another run', 'warning'],
  too_many_pages: ['Too many pages are open', 'bad'],
  too_large: ['Too large', 'bad'],
  outcome_unknown: ['Cut off: nobody knows how far it got', 'bad'],
};

/** The same of a command that had begun: it was not refused but ended. */
const endedWords: Record<string, readonly [words: string, tone: Tone]> = {
  denied_by_device: ['Ended: no longer allowed', 'warning'],
  denied_by_policy: ['Ended: against your rules', 'warning'],
  outside_shared_folders: ['Ended: no longer in a shared folder', 'warning'],
  paused: ['Ended: you paused', 'warning'],
  withdrawn: ['Ended: taken back by the hub', 'plain'],
  timeout: ['Ended: took too long', 'bad'],
};

/** What is known besides the code. */
const reasonWords: Record<EndReason, readonly [words: string, tone: Tone]> = {
  owner_said_no: ['You said no', 'warning'],
  owner_did_not_answer: ['Refused: you did not answer in time', 'warning'],
  owner_not_asked: ['Refused: you could not be asked', 'warning'],
  owner_paused: ['Ended: you paused', 'warning'],
  owner_denied: ['Ended: no longer allowed', 'warning'],
  companion_stopped: ['Ended: the companion was stopped', 'plain'],
};

type OutcomeFields = Pick<PastEntry, 'outcome' | 'reason' | 'began'>;

/** What became of a command, in plain words, and how that is to look. */
export function describeOutcome({ outcome, reason, began }: OutcomeFields): readonly [words: string, tone: Tone] {
  if (reason !== null) return reasonWords[reason];
  const words = began === true && Object.hasOwn(endedWords, outcome) ? endedWords : outcomeWords;
  return (Object.hasOwn(words, outcome) ? words[outcome] : undefined) ?? ['Failed', 'bad'];
}

/** The companion speaks to a hub and to a command line as well; here it speaks to the owner, who has a window. */
const ownerWords: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/\bThe owner of this machine was asked, and /g, 'You were asked, and '],
  [/\bYou were asked, and said no\b/g, 'You said no'],
  [
    /\bThe owner of this machine wants to be asked, and nobody here can ask them\b/g,
    'You want to be asked, and nobody here could ask you',
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

/** A message of the companion's in words for the window: it speaks to its owner, and names no option of a command line. */
export function rewordForOwner(message: string): string {
  let text = message;
  for (const [pattern, words] of ownerWords) text = text.replace(pattern, words);
  return text;
}
