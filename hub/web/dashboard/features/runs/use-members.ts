import { useQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useWords } from '../../app/language.tsx';
import { useSession } from '../../app/session.tsx';

/** Returns the name of who started something, such as `user:<id>`. Members beyond the first 100 have no names here. */
export function useActorName(): (actor: string) => string {
  const { tenantId, user } = useSession();
  const { by } = useWords().runs;
  const { data } = useQuery({
    ...query('listMembers', { params: { tenantId }, query: { limit: 100 } }),
    staleTime: 10 * 60_000,
  });
  return (actor) => {
    const [kind, id] = actor.split(':');
    if (kind === 'user' && id === user.id) return by.you;
    if (kind === 'token') return by.key;
    if (kind === 'operator') return by.operator;
    const member = data?.data.find((one) => one.id === id);
    return member === undefined ? by.member : visibleLine(member.displayName ?? member.email);
  };
}
