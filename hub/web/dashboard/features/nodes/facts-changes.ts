import type { NodeFacts } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import type { Language } from '../../app/language.tsx';

/** A change between two reports of a node, as one line. */
export function describeChanges(
  before: NodeFacts,
  after: NodeFacts,
  { words, format, bytes }: Pick<Language, 'words' | 'format' | 'bytes'>,
): string[] {
  const { nodes } = words;
  const { change } = nodes;
  const lines: string[] = [];
  const note = (name: string, from: string, to: string) => {
    if (from !== to) lines.push(format(change.value, { name, from: visibleLine(from), to: visibleLine(to) }));
  };
  if (before.paused !== after.paused) lines.push(after.paused ? change.paused : change.resumed);
  if (before.allowSystem !== after.allowSystem) lines.push(after.allowSystem ? change.systemOn : change.systemOff);
  if (before.allowBrowser !== after.allowBrowser) lines.push(after.allowBrowser ? change.browserOn : change.browserOff);
  const [old, now] = [before.device, after.device];
  note(nodes.companion, old?.appVersion ?? '–', now?.appVersion ?? '–');
  note(nodes.hostName, old?.name ?? '–', now?.name ?? '–');
  note(nodes.system, old?.osVersion ?? '–', now?.osVersion ?? '–');
  const [oldCommands, commands] = [old?.capabilities ?? [], now?.capabilities ?? []];
  const added = commands.filter((type) => !oldCommands.includes(type));
  const removed = oldCommands.filter((type) => !commands.includes(type));
  if (added.length > 0) lines.push(format(change.canNow, { commands: visibleLine(shorten(added)) }));
  if (removed.length > 0) lines.push(format(change.cannotNow, { commands: visibleLine(shorten(removed)) }));
  note(nodes.processor, before.cpu?.model ?? '–', after.cpu?.model ?? '–');
  note(
    nodes.memory,
    before.memory === null ? '–' : bytes(before.memory.totalBytes),
    after.memory === null ? '–' : bytes(after.memory.totalBytes),
  );
  const mounts = new Set([...before.disks, ...after.disks].map(({ mount }) => mount));
  for (const mount of mounts) {
    const use = (facts: NodeFacts) => {
      const disk = facts.disks.find((one) => one.mount === mount);
      return disk === undefined ? '–' : format(nodes.percentUsed, { percent: Math.round(disk.usedPercent) });
    };
    note(format(nodes.disk, { mount: visibleLine(mount) }), use(before), use(after));
  }
  const battery = ({ battery: one }: NodeFacts) =>
    one === null
      ? '–'
      : format(one.charging ? nodes.batteryCharging : nodes.batteryText, { percent: Math.round(one.percent) });
  note(nodes.battery, battery(before), battery(after));
  const displays = (facts: NodeFacts) =>
    facts.displays.map(({ name, width, height }) => `${name} ${width} × ${height}`).join(', ') || '–';
  note(nodes.displays, displays(before), displays(after));
  return lines;
}

/** `browser.*` instead of twenty names, when all of them changed together. */
function shorten(types: readonly string[]): string {
  const groups = new Map<string, string[]>();
  for (const type of types) {
    const group = type.split('.')[0] ?? type;
    groups.set(group, [...(groups.get(group) ?? []), type]);
  }
  return [...groups].map(([name, list]) => (list.length > 3 ? `${name}.*` : list.join(', '))).join(', ');
}
