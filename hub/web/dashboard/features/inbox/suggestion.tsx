import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { AiSuggestion, InboxConversation } from '../../../../../shared/client/operations.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { readableText } from './message-text.tsx';
import { Sources } from './sources.tsx';

/** The suggestion of the AI agent for the newest message, and how to request one. */
export function useSuggestion({ id, lastSeq }: Pick<InboxConversation, 'id' | 'lastSeq'>) {
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const params = { tenantId, channelId: id };
  const { data: entitlements } = useQuery(query('readEntitlements'));
  const isAvailable = entitlements?.ai_agent === true;
  const { data } = useQuery({
    ...query('listAiSuggestions', { params, query: { limit: 1 } }),
    enabled: isAvailable,
  });
  const readAgain = () => cache.invalidateQueries({ queryKey: ['listAiSuggestions'] });
  const request = useAction('createAiSuggestion', { onDone: readAgain });
  const acceptance = useAction('acceptAiSuggestion', { onDone: readAgain });
  const [newest] = data?.data ?? [];
  return {
    isAvailable,
    // An older one does not know what the visitor wrote since.
    suggestion: newest !== undefined && newest.seq >= lastSeq && newest.acceptedAt === null ? newest : null,
    isRequesting: request.isPending,
    error: request.error ?? acceptance.error,
    request: () => request.start({ params }),
    accept: (suggestion: AiSuggestion) => acceptance.start({ params: { ...params, id: suggestion.id } }),
  };
}

/** A suggested reply with its sources. Visitors do not see it. */
export function Suggestion({
  suggestion,
  error,
  onUse,
}: {
  suggestion: AiSuggestion | null;
  error: Error | null;
  onUse: () => void;
}) {
  const { inbox } = useLanguage().words;
  if (suggestion === null) return <ErrorNote error={error} />;
  const { content, action, reason, sources, tools } = suggestion;
  return (
    <section aria-label={inbox.suggestion} className="mb-2 rounded-(--radius-medium) bg-accent-muted px-3.5 py-2.5">
      <p dir="auto" className="max-h-40 overflow-y-auto text-start wrap-anywhere whitespace-pre-wrap">
        <strong className="me-1.5 font-semibold">{inbox.suggestion}</strong>
        {content === '' ? inbox.suggestedActions[action] : readableText(content)}
      </p>
      {content === '' && reason !== '' && <p className="text-sm wrap-anywhere">{readableText(reason)}</p>}
      <div className="mt-1.5 flex flex-wrap items-center gap-2">
        <Sources sources={sources} tools={tools} />
        {content !== '' && (
          <span className="ms-auto">
            <Button size="small" onClick={onUse}>
              {inbox.useSuggestion}
              <kbd aria-hidden className="text-xs font-normal">
                U
              </kbd>
            </Button>
          </span>
        )}
      </div>
      <ErrorNote error={error} />
    </section>
  );
}
