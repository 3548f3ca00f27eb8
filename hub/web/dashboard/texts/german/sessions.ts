import type { sessions as english } from '../english/sessions.ts';

/** Texts of the sessions pages. */
export const sessions: typeof english = {
  missing: 'Es gibt keine Sitzung mit dieser ID',
  empty: 'Noch keine Sitzungen',
  emptyText:
    'Eine Sitzung speichert die Nachrichten zwischen einer Person oder Gruppe und einem KI-Agenten. Sitzungen erscheinen hier, wenn Workflows oder Kanäle sie verwenden.',
  session: 'Sitzung',
  scope: 'Bereich',
  changed: 'Letzte Nachricht',
  messages: 'Nachrichten',
  parts: 'Teile der Sitzung',
  json: 'JSON',
  noMessages: 'Diese Sitzung hat keine Nachrichten.',
  summary: 'Zusammenfassung früherer Nachrichten',
  run: 'Lauf',
  allScopes: 'Alle Bereiche',
  scopes: {
    dm: 'Person',
    group: 'Gruppe',
    run: 'Lauf',
    channel: 'Kanal',
    workspace: 'Arbeitsbereich',
  },
  roles: {
    user: 'Benutzer',
    assistant: 'KI-Agent',
    system: 'System',
  },
};
