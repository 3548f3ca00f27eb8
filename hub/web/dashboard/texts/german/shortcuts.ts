import type { shortcuts as english } from '../english/shortcuts.ts';

/** Texts of the list of keyboard shortcuts. */
export const shortcuts: typeof english = {
  title: 'Tastenkürzel',
  everywhere: 'Überall',
  search: 'Suchen',
  runs: 'Liste der Läufe',
  rows: 'Nächste und vorherige Zeile',
  select: 'Zeile auswählen',
  open: 'Zeile öffnen',
  run: 'Seite eines Laufs',
  steps: 'Nächster und vorheriger Schritt',
  inbox: 'Der Posteingang hat eigene Tasten: Drücken Sie dort ?.',
};
