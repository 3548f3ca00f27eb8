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

/** The origin of a command as labels with values. The values come from the hub: show them as text only. */
export function describeOrigin(
  origin: CommandOrigin | null,
  approvedBy: string | null,
): [label: string, value: string][] {
  const { workspace, workflow, run, startedBy, approvedBy: approver, reason } = origin ?? {};
  const step =
    run?.step === undefined
      ? ''
      : `, step ${run.step.index + 1}${run.step.name === undefined ? '' : ` (${run.step.name})`}`;
  const kind =
    startedBy === undefined || startedBy.kind === 'other' ? '' : (starterWords[startedBy.kind] ?? startedBy.kind);
  return [
    ['Workspace', workspace?.name ?? notStated],
    ['Workflow', workflow?.name ?? (origin === null ? notStated : 'none (direct run of a skill)')],
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
        ? (approvedBy ?? (origin === null ? notStated : 'no approval required'))
        : `${approver.name} (${approver.kind === 'key' ? 'API key' : 'user'})`,
    ],
    ['Reason', reason ?? notStated],
  ];
}
