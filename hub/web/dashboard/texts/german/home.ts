import type { home as english } from '../english/home.ts';

/** Texts of the home page. */
export const home: typeof english = {
  morning: 'Guten Morgen',
  afternoon: 'Guten Tag',
  evening: 'Guten Abend',
  greeting: '{greeting}, {name}',
  needsNothing: 'Nichts wartet auf Sie.',
  needsOne: 'Eine Sache wartet auf Sie.',
  needsMany: '{count} Dinge warten auf Sie.',
  pair: 'Rechner verbinden',

  approvals: 'Freigaben warten auf Sie',
  oneApproval: 'Freigabe wartet auf Sie',
  runs: 'beendete Läufe in 24 Stunden',
  runsWithRate: 'beendete Läufe in 24 Stunden, {rate} erfolgreich',
  inProgress: 'aktive Läufe',
  about: 'Etwa {count}',
  atLeast: '{count}+',
  onlineOf: '{online} von {total}',
  nodesOnline: 'Rechner online',
  unread: 'ungelesene Unterhaltungen',

  needs: 'Braucht eine Person',
  needsEmpty: 'Keine Freigaben, Fehler oder wartenden Rechner.',
  approve: 'Freigeben',
  failed: 'Fehlgeschlagen',
  failedTimes: '{count}-mal fehlgeschlagen',
  offline: 'Offline',
  unreadPill: 'Ungelesen',
  unreadTitle: 'Ungelesene Unterhaltungen: {count}',
  unreadNote: 'Besucher warten auf eine Antwort',
  runsWait: '{count} Läufe warten darauf',
  oneRunWaits: 'Ein Lauf wartet darauf',

  chart: 'Läufe, letzte 24 Stunden',
  chartText: 'Nach dem Zeitpunkt, zu dem sie eingereiht wurden, in Abschnitten von zwei Stunden.',
  bar: '{from} bis {to}, Läufe: {count}, fehlgeschlagen: {failed}',
  highest: 'Höchstwert: {count}',
  noRuns: 'Keine Läufe in den letzten 24 Stunden.',

  pictures: 'Neues von Ihren Rechnern',
  pictureOf: 'Bild von {node}',
  noPictures: 'Die neuesten Läufe haben keine Bilder aufgenommen.',

  next: 'Als Nächstes',
  nextEmpty: 'Kein Workflow hat einen Zeitplan.',
  nextPartlyEmpty: 'Keiner der {count} zuletzt geänderten Workflows hat einen Zeitplan.',
  nextPartly: 'Unter den {count} zuletzt geänderten Workflows.',
  allSchedules: 'Alle Zeitpläne',
};
