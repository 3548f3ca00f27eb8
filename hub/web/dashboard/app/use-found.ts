import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { SearchResult } from '../../../../shared/client/operations.ts';
import { client, query } from './api.ts';
import { useTenantId } from './session.tsx';

export type FoundType = SearchResult['type'] | 'visitor' | 'message';

/** What the search found, and how to open it. */
export interface Found {
  type: FoundType;
  id: string;
  title: string;
  open: () => Promise<void>;
}

const pathOf: Record<SearchResult['type'], (id: string) => string> = {
  workflow: (id) => `/workflows/${id}`,
  sequence: (id) => `/sequences/${id}`,
  agent: (id) => `/agents/${id}`,
  node: (id) => `/nodes/${id}`,
  channel: () => '/settings/channels',
  run: (id) => `/runs/${id}`,
  approval: (id) => `/approvals/${id}`,
};
const minCharacters = 2;
/** Results of each type. */
const limit = 6;

/** Finds objects of the workspace by name or id, visitors, and messages of conversations. */
export function useFound(q: string) {
  const tenantId = useTenantId();
  const navigate = useNavigate();
  const { data: entitlements } = useQuery(query('readEntitlements'));
  const isLongEnough = q.length >= minCharacters;
  const options = { enabled: isLongEnough, placeholderData: <Data>(previous: Data) => previous };
  const chatOptions = { ...options, enabled: isLongEnough && entitlements?.conversations_suite === true };
  const params = { tenantId };
  const objects = useQuery({ ...query('searchWorkspace', { params, query: { q, limit } }), ...options });
  const visitors = useQuery({ ...query('listInboxVisitors', { params, query: { q, limit } }), ...chatOptions });
  const messages = useQuery({ ...query('searchInbox', { params, query: { q, limit } }), ...chatOptions });
  const openConversation = (conversation?: string, at?: number) =>
    navigate({
      to: '/inbox',
      search: { ...(conversation === undefined ? {} : { conversation }), ...(at === undefined ? {} : { at }) },
    });
  const found: Found[] = [
    ...(objects.data?.data ?? []).map(({ type, id, title }) => ({
      type,
      id,
      title,
      open: () => navigate({ to: pathOf[type](id) }),
    })),
    ...(visitors.data?.data ?? []).map(({ id, display_name: name, email, external_id: externalId }) => ({
      type: 'visitor' as const,
      id,
      title: name ?? email ?? externalId ?? '',
      async open() {
        const { conversations } = await client.call('getInboxVisitor', { params: { tenantId, id } });
        await openConversation(conversations[0]?.id);
      },
    })),
    ...(messages.data?.data ?? []).map(({ message, conversationName }) => ({
      type: 'message' as const,
      id: message.id,
      title: `${conversationName}: ${message.content}`,
      open: () => openConversation(message.conversationId, message.position),
    })),
  ];
  const queries = [objects, ...(chatOptions.enabled ? [visitors, messages] : [])];
  return {
    isLongEnough,
    results: isLongEnough ? found : [],
    error: queries.find(({ error }) => error !== null)?.error ?? null,
    /** Whether the results belong to the text, and not to the one before. */
    isCurrent: queries.every(({ data, isPlaceholderData }) => data !== undefined && !isPlaceholderData),
  };
}
