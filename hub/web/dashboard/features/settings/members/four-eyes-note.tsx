import { useInfiniteQuery } from '@tanstack/react-query';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { useLanguage } from '../../../app/language.tsx';
import { useSession } from '../../../app/session.tsx';
import { Note } from '../parts/note.tsx';
import { memberList } from './member.ts';

/** What a new member changes for the decision of commands. */
export function FourEyesNote({ role }: { role: 'admin' | 'agent' }) {
  const { words, format } = useLanguage();
  const texts = words.settings.members;
  const { user, tenantId } = useSession();
  const list = useInfiniteQuery(memberList(tenantId));
  const isAlone = list.data?.pages[0]?.data.length === 1;
  // Beside an admin with a password, the hub does not accept decisions of the account that sign-in links open.
  const losesDecisions = !user.hasPassword && role === 'admin';
  if (losesDecisions)
    return <Note tone="warning">{format(texts.linkAccount, { email: visibleLine(user.email) })}</Note>;
  return isAlone && <Note>{texts.fourEyes}</Note>;
}
