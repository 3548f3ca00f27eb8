import type { calls as english } from '../english/calls.ts';

/** Texts of the calls page. */
export const calls: typeof english = {
  empty: 'Noch keine Anrufe',
  emptyText:
    'Anrufe erscheinen hier, wenn ein Anbieter sie meldet oder ein Softphone oder Ihr SIP-Trunk sie führt. Ein Admin fügt einen Anbieter in den Einstellungen hinzu.',
  addCarrier: 'Anbieter hinzufügen',
  noMatch: 'Kein Anruf passt zu diesen Filtern.',
  today: 'Anrufe heute',
  minutes: 'Minuten heute',
  answered: 'angenommen, letzte 7 Tage',
  noRate: 'keine eingehenden Anrufe',
  direction: 'Richtung',
  allDirections: 'Alle Richtungen',
  directions: {
    inbound: 'Eingehend',
    outbound: 'Ausgehend',
  },
  result: 'Ergebnis',
  allResults: 'Alle Ergebnisse',
  results: {
    answered: 'Angenommen',
    missed: 'Verpasst',
    busy: 'Besetzt',
    failed: 'Fehlgeschlagen',
    voicemail: 'Mailbox',
    cancelled: 'Abgebrochen',
  },
  states: {
    queued: 'In der Warteschlange',
    ringing: 'Klingelt',
    in_progress: 'Im Gespräch',
    ended: 'Beendet',
  },
  from: 'Von',
  to: 'An',
  started: 'Beginn',
  talk: 'Gesprächszeit',
  quality: 'Qualität',
  rang: 'klingelte {duration}',
  mos: 'MOS {score}',
  export: 'Als CSV exportieren',
  openPhone: 'Telefon öffnen',
  unknown: 'Unbekannt',
  reason: 'Grund: {reason}',
  hangup: {
    caller: 'Der Anrufer hat aufgelegt',
    callee: 'Der Angerufene hat aufgelegt',
  },
};
