import type { agents as english } from '../english/agents.ts';

/** Texts of the agents pages. */
export const agents: typeof english = {
  missing: 'Es gibt keinen KI-Agenten mit dieser ID',
  empty: 'Noch keine KI-Agenten',
  emptyText:
    'Ein KI-Agent beantwortet Nachrichten von Kanälen und arbeitet als Schritt von Workflows. Legen Sie einen über die API an.',
  name: 'Name',
  model: 'Modell',
  anyModel: 'Ausfallreihenfolge',
  profile: 'Werkzeuge',
  noProfile: 'Keine Werkzeuge',
  routes: 'Weiterleitungen',
  changed: 'Geändert',
  prompt: 'Anweisungen',
  allowed: 'Erlaubte Fähigkeiten',
  denied: 'Verbotene Fähigkeiten',
  json: 'JSON',
  none: 'Keine',
};
