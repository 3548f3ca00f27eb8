import { Link } from '@tanstack/react-router';
import type { Node } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage, useWords } from '../../app/language.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { powerIcons, powerState, powers } from './powers.ts';

const platforms: Readonly<Record<string, string>> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' };

/** Operating system and processor, as the device reports them. */
export function systemName(device: Pick<NonNullable<Node['device']>, 'platform' | 'osVersion' | 'arch'>): string {
  const platform = Object.hasOwn(platforms, device.platform) ? platforms[device.platform] : device.platform;
  return visibleLine([platform, device.osVersion].filter((part) => part !== '').join(' ') + `, ${device.arch}`);
}

export function NodeStatusPills({ node }: { node: Node }) {
  const { nodes } = useWords();
  return (
    <span className="inline-flex flex-wrap gap-1.5">
      <StatusPill status={node.status} />
      {node.paused && <Pill tone="warning">{nodes.paused}</Pill>}
      {node.audit !== null && node.audit.brokenAt !== null && <Pill tone="danger">{nodes.logBroken}</Pill>}
    </span>
  );
}

/** The tags of a node. Each leads to the nodes that have it. */
export function NodeTags({ node }: { node: Node }) {
  const { nodes } = useWords();
  if (node.tags.length === 0) return null;
  return (
    <ul aria-label={nodes.tags} className="flex flex-wrap gap-1.5">
      {node.tags.map((tag) => (
        <li key={tag}>
          <Link
            to="/nodes"
            search={{ tag }}
            className="rounded-sm bg-surface-muted px-1.5 py-0.5 text-sm font-normal text-text no-underline wrap-anywhere hover:underline"
          >
            <bdi>{visibleLine(tag)}</bdi>
          </Link>
        </li>
      ))}
    </ul>
  );
}

const tones = {
  works: 'text-success',
  trial: 'text-success',
  blocked: 'text-text-muted',
  unknown: 'text-text-muted',
} as const;

/** One icon for each power, with whether it works. */
export function PowersAtAGlance({ node }: { node: Node }) {
  const { words, format } = useLanguage();
  const { nodes } = words;
  return (
    <ul className="flex gap-1.5" aria-label={nodes.powers}>
      {powers.map((power) => {
        const { verdict, obstacles } = powerState(node, power);
        const Icon = powerIcons[power];
        const text = format(nodes.powerIs, {
          power: nodes.power[power].name,
          state: obstacles[0] === undefined ? nodes.verdict[verdict] : nodes.obstacle[obstacles[0]],
        });
        return (
          <li key={power} title={text} className={`relative ${tones[verdict]}`}>
            <Icon size={17} aria-hidden />
            {verdict === 'blocked' && (
              <span aria-hidden className="absolute inset-x-0 top-1/2 h-0.5 -rotate-45 bg-current" />
            )}
            {verdict === 'unknown' && (
              <span aria-hidden className="absolute -end-1 -top-1.5 text-xs font-bold">
                ?
              </span>
            )}
            <span className="sr-only">{text}</span>
          </li>
        );
      })}
    </ul>
  );
}
