import { useQueryClient } from '@tanstack/react-query';
import type { InboxConversation } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useAction } from '../../app/api.ts';
import type { Input } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { useErrorText } from '../../ui/error.tsx';
import { showToast, undoMs } from '../../ui/toasts.tsx';
import { patchConversation } from './conversation-cache.ts';
import { useInboxLive } from './live.tsx';
import { usePeople } from './people.ts';

type Change = Input<'updateInboxConversation'>['body'];

/** Actions of an agent on a conversation. The response is visible immediately; the lists follow. */
export function useConversationActions(conversation: InboxConversation | undefined) {
  const cache = useQueryClient();
  const tenantId = useTenantId();
  const live = useInboxLive();
  const { words, format, shortDateTime } = useLanguage();
  const { inbox } = words;
  const errorText = useErrorText();
  const { ownId } = usePeople();
  const show = (answer: InboxConversation) => {
    patchConversation(cache, tenantId, answer, ownId);
    live.reread(['countInboxConversations']);
  };
  const update = useAction('updateInboxConversation', { onDone: show });
  const assignment = useAction('assignInboxConversation', { onDone: show });
  const params = { tenantId, id: conversation?.id ?? '' };
  // The page may show another conversation when this fails.
  const showFailure = (error: unknown) => showToast(errorText(error), { tone: 'danger' });
  const change = (body: Change) => update.run({ params, body });
  return {
    isBusy: update.isPending || assignment.isPending,
    isUpdating: update.isPending,
    error: update.error ?? assignment.error,
    change,
    /** Resolves the conversation and offers to undo it. */
    async resolve() {
      if (conversation === undefined) return;
      const { status } = conversation;
      await change({ status: 'resolved' });
      showToast(inbox.resolvedToast, {
        forMs: undoMs,
        undoKey: 'Z',
        undo: () => background(change({ status }).catch(showFailure)),
      });
    },
    /** Snoozes the conversation and offers to undo it. */
    async snooze(until: Date) {
      if (conversation === undefined) return;
      const { snoozedUntil } = conversation;
      await change({ snoozedUntil: until.toISOString() });
      showToast(format(inbox.snoozedToast, { time: shortDateTime(until, new Date()) }), {
        forMs: undoMs,
        undoKey: 'Z',
        undo: () => background(change({ snoozedUntil }).catch(showFailure)),
      });
    },
    /** Fails if another member was assigned meanwhile, so that an agent does not take over a conversation by accident. */
    assign(userId: string | null) {
      if (conversation === undefined) return Promise.resolve();
      return assignment.run({ params, body: { userId, from: conversation.assignedUserId } });
    },
  };
}

export type ConversationActions = ReturnType<typeof useConversationActions>;
