/** Texts of the sessions pages. */
export const sessions = {
  missing: 'There is no session with this id',
  empty: 'No sessions yet',
  emptyText:
    'A session stores the messages between a person or group and an AI agent. Sessions appear here when workflows or channels use them.',
  session: 'Session',
  scope: 'Scope',
  changed: 'Last message',
  messages: 'Messages',
  parts: 'Parts of the session',
  json: 'JSON',
  noMessages: 'This session has no messages.',
  summary: 'Summary of earlier messages',
  run: 'Run',
  allScopes: 'All scopes',
  scopes: {
    dm: 'Person',
    group: 'Group',
    run: 'Run',
    channel: 'Channel',
    workspace: 'Workspace',
  },
  roles: {
    user: 'User',
    assistant: 'AI agent',
    system: 'System',
  },
};
