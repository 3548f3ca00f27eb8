import { useEffect, useRef, useState } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import { useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, TextArea } from '../../ui/form.tsx';
import { useInboxLive } from './live.tsx';

/** The conversation that a refusal names, in which the agent can reply. */
function conversationOf(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.code !== 'conflict') return null;
  return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(error.details[0]?.message ?? '')?.[0] ?? null;
}

/** The first message of a conversation with a known visitor. */
export function StartForm({
  visitorId,
  onClose,
  onStarted,
}: {
  visitorId: string;
  onClose: () => void;
  onStarted: (conversationId: string) => void;
}) {
  const { words } = useLanguage();
  const { inbox, common } = words;
  const tenantId = useTenantId();
  const live = useInboxLive();
  const [content, setContent] = useState('');
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  const start = useAction('startInboxConversation', {
    onDone({ id }) {
      live.reread(['listInboxConversations', 'countInboxConversations', 'getInboxVisitor']);
      // The agent may have closed the form, or gone to another conversation.
      if (isShown.current) onStarted(id);
    },
  });
  const existing = conversationOf(start.error);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        start.start({ params: { tenantId }, body: { visitorId, content } });
      }}
    >
      <Field label={inbox.firstMessage} hint={inbox.firstMessageHint}>
        {(attributes) => (
          <TextArea
            {...attributes}
            rows={4}
            dir="auto"
            value={content}
            maxLength={10_000}
            required
            autoFocus
            onChange={(event) => setContent(event.target.value)}
          />
        )}
      </Field>
      <ErrorNote error={existing === null ? start.error : null} />
      {existing !== null && (
        <p role="alert" className="mb-3 flex flex-wrap items-center gap-2 text-warning">
          {inbox.hasConversation}
          <Button
            size="small"
            onClick={() => {
              // What the agent wrote goes along.
              const draft = live.drafts.of(existing);
              if (draft.isEmpty) draft.edit(content, 0);
              onStarted(existing);
            }}
          >
            {inbox.openConversation}
          </Button>
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button type="submit" variant="primary" isBusy={start.isPending} disabled={content.trim() === ''}>
          {inbox.send}
        </Button>
      </div>
    </form>
  );
}
