import type { ApprovalDecider, ApprovalDetail, ApprovalRequester } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useSession } from '../../app/session.tsx';
import { useIsolate } from '../../ui/isolate.ts';

/** Returns a function that names who or what decided. */
export function useDeciderText(): (decider: ApprovalDecider) => string {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const isolate = useIsolate();
  return ({ kind, name: given, linkCreatedBy }) => {
    const name = isolate(visibleLine(given));
    if (kind === 'time_out') return texts.byTimeOut;
    if (kind === 'run_end') return texts.byRunEnd;
    if (linkCreatedBy !== undefined)
      return format(texts.byLinkOf, { name, admin: isolate(visibleLine(linkCreatedBy)) });
    if (kind === 'mail_link') return format(texts.byMailLink, { name });
    return kind === 'key' ? format(texts.key, { name }) : name;
  };
}

/** Returns a function that names those who requested an approval; null for an automatic trigger. */
export function useRequesterText(): (requesters: readonly ApprovalRequester[]) => string | null {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const isolate = useIsolate();
  return (requesters) => {
    if (requesters.length === 0) return null;
    return requesters
      .map(({ kind, name }) => {
        const text = name === null ? texts.removed : isolate(visibleLine(name));
        return kind === 'key' ? format(texts.key, { name: text }) : text;
      })
      .join(', ');
  };
}

/** Returns a function that tells whether the signed-in user has voted for an approval. */
export function useHasVoted(): (approval: Pick<ApprovalDetail, 'votes'>) => boolean {
  const { user } = useSession();
  return ({ votes }) => votes.some(({ approver }) => approver === user.email || approver === `user:${user.id}`);
}
