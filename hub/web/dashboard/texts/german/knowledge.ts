import type { knowledge as english } from '../english/knowledge.ts';

/** Texts of the knowledge pages. */
export const knowledge: typeof english = {
  entries: 'Einträge',
  unanswered: 'Unbeantwortete Fragen',
  try: 'Eine Frage ausprobieren',
  empty: 'Noch keine Einträge',
  emptyText:
    'KI-Agenten antworten Besuchern aus diesen Einträgen. Fügen Sie den ersten hinzu, oder beantworten Sie unten eine Frage.',
  noUnanswered: 'Keine Frage wartet auf eine Antwort.',
  count: '{count}-mal gestellt',
  once: 'einmal gestellt',
  answer: 'Beantworten',
  dismiss: 'Verwerfen',
  add: 'Eintrag hinzufügen',
  edit: 'Eintrag bearbeiten',
  question: 'Frage',
  answerLabel: 'Antwort',
  url: 'Seite zum Weiterlesen',
  locale: 'Sprachcode',
  localeHint: 'Etwa de oder pt-BR. Leer für jede Sprache.',
  id: 'Kennung',
  saved: 'Der Eintrag ist gespeichert',
  deleted: 'Der Eintrag ist gelöscht',
  terms: 'Text in jedem Prompt',
  termsHint: 'Text, der Teil jedes Prompts ist, etwa Geschäftsbedingungen.',
  filter: 'Einträge filtern',
  matching: '{count} von {total} Einträgen',
  ask: 'Fragen',
  passages: 'Einträge, die ein KI-Agent sähe, die besten zuerst',
  noPassages: 'Kein Eintrag passt. Ein KI-Agent würde an einen Menschen übergeben.',
  search: {
    off: 'Suche nur nach Wörtern: Der Hub hat kein Embedding-Modell.',
    pending: 'Suche nach Bedeutung: {done} von {total} Einträgen sind bereit.',
    ready: 'Suche nach Wörtern und nach Bedeutung.',
    failing: 'Das Embedding-Modell antwortet nicht. Bis dahin wird nur nach Wörtern gesucht.',
  },
};
