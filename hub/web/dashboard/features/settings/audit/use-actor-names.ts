import { useQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { query } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { useTenantId } from '../../../app/session.tsx';
import { shortId, useNodeNames } from '../../../ui/object-links.tsx';

const maxNames = 100;

/** The actors that the filter offers, and the name of any actor. */
export function useActorNames(): { known: { actor: string; name: string }[]; nameOf: (actor: string) => string } {
  const { settings } = useWords();
  const words = settings.audit;
  const input = { params: { tenantId: useTenantId() }, query: { limit: maxNames } };
  const members = useQuery(query('listMembers', input));
  const tokens = useQuery(query('listApiTokens', input));
  const nodes = useNodeNames(true);
  const listed = [
    ...(members.data?.data ?? []).map(({ id, displayName, email }) => ({
      actor: `user:${id}`,
      name: visibleLine(displayName ?? email),
    })),
    ...(tokens.data?.data ?? []).map(({ id, name }) => ({
      actor: `token:${id}`,
      name: `${words.token} ${visibleLine(name)}`,
    })),
  ];
  const uses = new Map<string, number>();
  for (const { name } of listed) uses.set(name, (uses.get(name) ?? 0) + 1);
  // The end of the id tells actors of the same name apart.
  const known = listed.map(({ actor, name }) => ({
    actor,
    name: (uses.get(name) ?? 0) > 1 ? `${name} ${shortId(actor)}` : name,
  }));
  const names = new Map(known.map(({ actor, name }) => [actor, name]));
  const kinds: Record<string, string> = words.actors;
  return {
    known,
    nameOf: (actor) => {
      const [kind = '', id = ''] = actor.split(':');
      const node = kind === 'node' ? nodes.get(id) : undefined;
      if (node !== undefined) return `${kinds['node'] ?? 'node'} ${node}`;
      return (
        names.get(actor) ?? `${kinds[kind] ?? visibleLine(kind)}${id === '' ? '' : ` ${visibleLine(shortId(id))}`}`
      );
    },
  };
}
