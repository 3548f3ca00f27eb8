import type { Words } from './english.ts';

export const german: Words = {
  title: 'Benachrichtigungen',
  user: 'Angemeldet als {email}',
  text: 'Dieser Browser kann Ihnen melden, wenn eine Freigabe auf Ihre Entscheidung wartet, auch wenn keine Seite des Hubs geöffnet ist.',
  privacy:
    'Die Benachrichtigung sagt nur, dass eine Freigabe wartet: Sie zeigt weder Titel noch Namen. Der Push-Dienst des Browserherstellers stellt sie verschlüsselt zu: Er erfährt die Adresse dieses Browsers und den Zeitpunkt, nicht den Inhalt.',
  session:
    'Benachrichtigungen laufen weiter, wenn Ihre Anmeldung abläuft. Sie enden, wenn Sie sich in diesem Browser abmelden, wenn Sie in einem anderen Browser Ihr Passwort ändern und wenn Sie den Hub in diesem Browser 60 Tage lang nicht benutzen.',
  loading: 'Wird geladen…',
  on: 'Benachrichtigungen sind in diesem Browser eingeschaltet.',
  off: 'Benachrichtigungen sind in diesem Browser ausgeschaltet.',
  denied: 'Ihr Browser blockiert Benachrichtigungen dieses Hubs.',
  deniedText:
    'Öffnen Sie neben der Adresse die Einstellungen dieser Website und erlauben Sie Benachrichtigungen. Prüfen Sie es danach erneut.',
  stopped: 'Der Push-Dienst lehnt die Nachrichten dieses Hubs ab.',
  stoppedText:
    'Der Hub sendet nichts mehr an diesen Browser, weil der Push-Dienst seit Tagen jede Nachricht ablehnt. Schalten Sie die Benachrichtigungen wieder ein. Wenn sie erneut enden, informieren Sie den Betreiber dieses Hubs.',
  unsupported: 'Dieser Browser kann keine Benachrichtigungen empfangen.',
  unsupportedText:
    'Die Seite muss über https geöffnet sein. Verwenden Sie eine aktuelle Version von Chrome, Edge, Firefox oder Safari und kein privates Fenster.',
  noService: 'Der Push-Dienst Ihres Browsers ist nicht erreichbar.',
  noServiceText:
    'Prüfen Sie Ihre Verbindung und ob eine Firewall oder eine Einstellung des Browsers den Dienst blockiert.',
  noHub: 'Der Hub ist nicht erreichbar.',
  noHubText: 'Prüfen Sie Ihre Verbindung und versuchen Sie es erneut.',
  turnOn: 'Benachrichtigungen einschalten',
  turnOff: 'Benachrichtigungen ausschalten',
  retry: 'Erneut versuchen',
  back: 'Zurück zu Ihrem Profil',
};
