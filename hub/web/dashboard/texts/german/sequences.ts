import type { sequences as english } from '../english/sequences.ts';

/** Texts of the sequences pages. */
export const sequences: typeof english = {
  missing: 'Es gibt keine Sequenz mit dieser ID',
  empty: 'Noch keine Sequenzen',
  emptyText:
    'Eine Sequenz ist eine Liste von Schritten, zwischen denen Tage liegen können, etwa Erinnerungen. Legen Sie eine über die API an.',
  name: 'Name',
  steps: 'Schritte',
  changed: 'Geändert',
  run: 'Ausführen …',
  runTitle: '{name} ausführen',
  runText: 'Die Schritte laufen in der Live-Umgebung: E-Mails und Nachrichten gehen an echte Empfänger.',
  payload: 'Nutzdaten als JSON',
  payloadHint: 'Die Schritte lesen sie als payload, zum Beispiel {{payload.name}}.',
  payloadInvalid: 'Das ist kein gültiges JSON. {reason}',
  payloadObject: 'Die Nutzdaten müssen ein JSON-Objekt sein, etwa { "name": "Ann" }.',
  wait: 'wartet zuerst {duration}',
  json: 'JSON',
  workflow: 'Läufe dieser Sequenz',
};
