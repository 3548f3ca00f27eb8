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
  // The account that sign-in links open can count beside another member.
  const isSmall = (list.data?.pages[0]?.data.length ?? 0) <= 2;
  // Beside an admin with a password, the hub does not accept decisions of the account that sign-in links open.
  const losesDecisions = !user.hasPassword && role === 'admin';
  return (
    <div role="status">
      {losesDecisions ? (
        <Note tone="warning">{format(texts.linkAccount, { email: visibleLine(user.email) })}</Note>
      ) : (
        isSmall && <Note>{texts.fourEyes}</Note>
      )}
    </div>
  );
}
