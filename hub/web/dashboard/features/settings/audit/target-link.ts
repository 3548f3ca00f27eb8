import type { LinkProps } from '@tanstack/react-router';

const pages: Record<string, string> = {
  workflow: '/workflows/',
  run: '/runs/',
  approval: '/approvals/',
  node: '/nodes/',
  agent: '/agents/',
  sequence: '/sequences/',
  session: '/sessions/',
  pack: '/packs/',
};
/** Objects of which a workspace has one; their id is that of the workspace. */
export const settingsObjects: Record<string, string> = {
  policy: 'policy',
  models: 'models',
  chat_settings: 'chat',
  chat_ai_settings: 'chat-ai',
};
const sections: Record<string, string> = {
  ...settingsObjects,
  user: 'members',
  token: 'tokens',
  webhook: 'webhooks',
  channel: 'channels',
};
/** Sections that open one object by its id. */
const withId: readonly string[] = ['webhook', 'channel'];

/** The page of the dashboard about the target of an entry; null if there is none. */
export function targetLink(type: string, id: string): LinkProps | null {
  const page = pages[type];
  if (page !== undefined) return { to: (page + encodeURIComponent(id)) as LinkProps['to'] };
  const section = sections[type];
  if (section === undefined) return null;
  return { to: '/settings/{-$section}', params: { section }, search: withId.includes(type) ? { id } : {} };
}
