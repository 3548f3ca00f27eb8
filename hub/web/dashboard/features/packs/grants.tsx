import type { PackGrants } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { Facts } from '../../ui/layout.tsx';

/** What workflows of a pack may do. */
export function Grants({ grants }: { grants: PackGrants }) {
  const { words } = useLanguage();
  const texts = words.packs;
  const listOf = (items: readonly string[]) =>
    items.length === 0 ? (
      texts.nothing
    ) : (
      <ul>
        {items.map((item) => (
          <li key={item}>{visibleLine(item)}</li>
        ))}
      </ul>
    );
  return (
    <>
      <Facts
        rows={[
          [texts.skills, listOf(grants.skills.map(({ title, effect }) => `${title}: ${effect}`))],
          [texts.hosts, listOf(grants.hosts)],
          [texts.powers, listOf(grants.nodePowers.map((power) => texts.powerNames[power]))],
          [texts.secrets, listOf(grants.secrets)],
        ]}
      />
      <p className="mt-3">{grants.approvals ? texts.approvals : texts.noApprovals}</p>
    </>
  );
}
