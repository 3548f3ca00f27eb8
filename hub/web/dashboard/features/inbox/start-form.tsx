import { useEffect, useRef, useState } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import { useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { preferences } from '../../app/preferences.ts';
import { useTenantId } from '../../app/session.tsx';
import { useStore } from '../../app/use-store.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, TextArea } from '../../ui/form.tsx';
import { useInboxLive } from './live.tsx';
import { isSendKey } from './send-key.ts';

/** The conversation that a refusal names, in which the agent can reply. */
function conversationOf(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.code !== 'conflict') return null;
  return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(error.details[0]?.message ?? '')?.[0] ?? null;
}

/** First messages that are not sent, by visitor. They stay when the form closes. */
const unsent = new Map<string, string>();

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
  const { enterSends } = useStore(preferences);
  const [content, setContent] = useState(unsent.get(visitorId) ?? '');
  const isShown = useRef(false);
  const hasTyped = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  const start = useAction('startInboxConversation', {
    onDone({ id }) {
      unsent.delete(visitorId);
      live.reread(['listInboxConversations', 'countInboxConversations', 'getInboxVisitor']);
      // The agent may have closed the form, or gone to another conversation.
      if (isShown.current) onStarted(id);
    },
  });
  const existing = conversationOf(start.error);
  const send = () => {
    if (content.trim() !== '' && !start.isPending) start.start({ params: { tenantId }, body: { visitorId, content } });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
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
            onChange={(event) => {
              hasTyped.current = true;
              setContent(event.target.value);
              unsent.set(visitorId, event.target.value);
            }}
            onKeyDown={(event) => {
              // Enter alone can still be meant for the choice of the visitor, and the field can have an earlier text.
              if (!isSendKey(event, enterSends && hasTyped.current)) return;
              event.preventDefault();
              if (!event.repeat) send();
            }}
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
              unsent.delete(visitorId);
              const draft = live.drafts.of(existing);
              draft.show('reply');
              if (draft.text.content === '') draft.edit(content, 0);
              onStarted(existing);
            }}
          >
            {inbox.openConversation}
          </Button>
        </p>
      )}
      <div className="flex items-center justify-end gap-2">
        {content !== '' && <p className="me-auto min-w-0 text-sm text-text-muted">{inbox.messageKept}</p>}
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button
          type="submit"
          variant="primary"
          isBusy={start.isPending}
          disabled={content.trim() === ''}
          title={enterSends ? inbox.sendWithEnter : inbox.sendWithKeys}
        >
          {inbox.send}
        </Button>
      </div>
    </form>
  );
}
