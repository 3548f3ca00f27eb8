import type { start as english } from '../english/start.ts';

/** Texts of the first minutes: pairing a machine, and a first workflow on it. */
export const start: typeof english = {
  title: 'Ihre ersten Minuten',
  intro: 'Verbinden Sie einen Rechner, starten Sie dort einen Workflow, und sehen Sie hier das Ergebnis.',
  dismiss: 'Ausblenden',
  pairStep: 'Rechner verbinden',
  runStep: 'Ersten Workflow dort starten',
  stepDone: 'Erledigt',

  pairTitle: 'Rechner verbinden',
  pairIntro:
    'Der Companion ist das Programm, das auf einem Rechner für diesen Hub arbeitet. Er braucht Node.js 22.12 oder neuer, oder die Desktop-App. Ein Code verbindet ihn.',
  adminOnly:
    'Nur Administratoren können Rechner verbinden. Wenden Sie sich an die Administration Ihres Arbeitsbereichs.',
  name: 'Name',
  nameHint: 'Der Hostname des Rechners, wenn Sie nichts eingeben.',
  powers: 'Was Workflows dort dürfen',
  powersHint:
    'Die Zeile, die Sie auf dem Rechner ausführen, erlaubt das auch dort. Der Besitzer kann es jederzeit ändern. Ohne Auswahl können Workflows nur prüfen, ob der Rechner antwortet.',
  screen: 'Bilder vom Bildschirm aufnehmen',
  system: 'Programme starten, jedes nach einer Freigabe',
  browser: 'Den Browser steuern',
  createCode: 'Code erstellen',
  code: 'Kopplungscode',
  codeText: 'Gilt einmal, bis {time}.',
  qrLabel: 'QR-Code mit dem Link, der die Companion-App öffnet',
  qrHint: 'Für die Companion-App',
  openApp: 'Companion-App auf diesem Rechner öffnen',
  command: 'Führen Sie auf dem Rechner diese Zeile aus',
  commandHint:
    'Führen Sie sie in dem Ordner aus, in dem der Companion installiert ist. Der Companion läuft, bis Sie Strg+C drücken.',
  insecure:
    'Dieser Hub hat keine https-Adresse, deshalb enthält die Zeile --insecure. Verwenden Sie sie nur in einem Netz, dem Sie vertrauen.',
  waiting: 'Warten auf den Rechner …',
  paired: '{name} ist gekoppelt. Warten auf die Verbindung …',
  connected: '{name} ist verbunden.',
  expired: 'Dieser Code ist abgelaufen.',
  newCode: 'Neuen Code erstellen',
  openNode: 'Rechner öffnen',
  allOffline: 'Ihre Rechner sind offline. Starten Sie den Companion auf einem davon:',
  another: 'Weiteren Rechner verbinden',

  willHappen: 'Das geschieht auf {name}',
  willPing: 'Der Hub prüft, ob der Rechner antwortet.',
  willCapture: 'Der Companion nimmt ein Bild vom Bildschirm auf und sendet es an diesen Hub.',
  willList: 'Der Companion listet die Namen der Ordner auf, die der Besitzer freigibt.',
  willNotChange:
    'Auf dem Rechner wird nichts verändert. Der Workflow bleibt in Ihrer Liste, und Sie können ihn löschen.',
  allowHint: 'Um stattdessen ein Bild zu sehen, führen Sie auf dem Rechner das aus:',
  screenMissing: 'Der Besitzer erlaubt Bilder des Bildschirms, aber der Rechner kann keines aufnehmen:',
  screenDenied: 'Der Besitzer erlaubt Bilder des Bildschirms, aber das Betriebssystem verweigert sie:',
  workflowName: 'Erster Blick auf {name}',
  pingStep: 'Prüfen, ob der Rechner antwortet',
  captureStep: 'Bild vom Bildschirm aufnehmen',
  listStep: 'Freigegebene Ordner auflisten',
  create: 'Workflow erstellen und starten',
  runAgain: 'Noch einmal starten',
  answered: 'Der Rechner hat nach {time} geantwortet.',
  picture: 'Bild vom Bildschirm von {name}',
  folders: 'Freigegebene Ordner',
  noFolders: 'Der Besitzer gibt noch keinen Ordner frei. Um einen freizugeben, führen Sie auf dem Rechner das aus:',
  needsApproval: 'Der Workflow wartet auf eine Freigabe.',
  seeApproval: 'Zur Freigabe',
  seeRun: 'Zum Lauf',
  succeeded: 'Ihr erster Workflow ist auf {name} gelaufen.',
};
