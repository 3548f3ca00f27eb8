import type { Node, Skill } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { TextLink } from '../../ui/layout.tsx';
import { powerOf, powerState } from './powers.ts';

/** Whether a command changes nothing on the machine. */
const readsOnly = (id: string) => id.startsWith('node.') || id === 'browser.pages';
/** Commands that work without a page of the same run. */
const needNoPage = new Set(['browser.navigate', 'browser.pages']);

/** What a command will do on the real machine, and what keeps it from running. Shown before it runs. */
export function ConsoleNotes({ node, skill }: { node: Node; skill: Skill }) {
  const { words } = useLanguage();
  const { nodes } = words;
  const power = powerOf(skill.id);
  const state = power === null ? null : powerState(node, power);
  const problems = [
    ...(node.status === 'offline' ? [nodes.offlineNote] : []),
    ...(node.status === 'pending' ? [nodes.notPairedText] : []),
    ...(node.status === 'revoked' ? [nodes.revokedNote] : []),
    ...(state?.obstacles ?? []).map((obstacle) => nodes.obstacle[obstacle]),
    ...(power === 'browser' && !needNoPage.has(skill.id) ? [nodes.needsPage] : []),
  ];
  const effects = [
    nodes.realMachine,
    readsOnly(skill.id) ? nodes.readsOnly : nodes.canChange,
    ...(skill.id === 'browser.navigate' ? [nodes.pageEnds] : []),
    ...(skill.needsApproval ? [nodes.needsApproval] : []),
    ...(state?.device?.asksOwner === true ? [nodes.ownerIsAsked] : []),
  ];
  return (
    <div className="mb-3 rounded-(--radius-medium) bg-surface-muted px-3 py-2 text-sm">
      {/* The hub describes its skills in English. */}
      <p lang="en" dir="ltr" className="text-start">
        {skill.summary}
      </p>
      <ul className="mt-1 list-disc ps-5 text-text-muted">
        {effects.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {problems.length > 0 && (
        <ul className="mt-1 list-disc ps-5 text-warning" aria-label={nodes.obstacles}>
          {problems.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {(state?.obstacles.length ?? 0) > 0 && (
        <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id, tab: 'permissions' }}>
          {nodes.seePermissions}
        </TextLink>
      )}
    </div>
  );
}
