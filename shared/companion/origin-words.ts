import type { CommandOrigin } from '../commands/origin.ts';

const notStated = 'not stated by the hub';

const starterWords: Record<string, string> = {
  user: 'user',
  key: 'API key',
  hook: 'hook',
  schedule: 'schedule',
  event: 'event',
  channel: 'channel',
  device: 'device',
  run: 'run',
};

/** Says where a command comes from, a name and its words each. The words come from the hub: show them as text only. */
export function describeOrigin(
  origin: CommandOrigin | null,
  approvedBy: string | null,
): [name: string, words: string][] {
  const { workspace, workflow, run, startedBy, approvedBy: approver, reason } = origin ?? {};
  const step =
    run?.step === undefined
      ? ''
      : `, step ${run.step.index + 1}${run.step.name === undefined ? '' : ` (${run.step.name})`}`;
  const kind =
    startedBy === undefined || startedBy.kind === 'other' ? '' : (starterWords[startedBy.kind] ?? startedBy.kind);
  return [
    ['Workspace', workspace?.name ?? notStated],
    ['Workflow', workflow?.name ?? (origin === null ? notStated : 'none: a single skill was run')],
    ['Run', run === undefined ? notStated : `${run.id}${step}`],
    [
      'Started by',
      startedBy === undefined
        ? notStated
        : `${startedBy.name}${kind === '' || kind.toLowerCase() === startedBy.name.toLowerCase() ? '' : ` (${kind})`}`,
    ],
    [
      'Approved by',
      approver === undefined
        ? (approvedBy ?? (origin === null ? notStated : 'nobody: it needs no approval'))
        : `${approver.name} (${approver.kind === 'key' ? 'API key' : 'user'})`,
    ],
    ['Reason', reason ?? notStated],
  ];
}
