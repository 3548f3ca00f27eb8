import type { Words } from './english.ts';

export const german: Words = {
  title: 'Benachrichtigungen',
  user: 'Angemeldet als {email}',
  text: 'Dieser Browser kann Ihnen melden, wenn eine Freigabe auf Ihre Entscheidung wartet, auch wenn keine Seite des Hubs geöffnet ist.',
  privacy:
    'Die Benachrichtigung enthält den Titel der Freigabe und den Namen des Workflows. Der Push-Dienst des Browserherstellers stellt sie verschlüsselt zu: Er erfährt die Adresse dieses Browsers und den Zeitpunkt, nicht den Inhalt.',
  session:
    'Benachrichtigungen enden, wenn Sie sich abmelden oder Ihre Anmeldung abläuft. Schalten Sie sie nach der nächsten Anmeldung wieder ein.',
  loading: 'Wird geladen…',
  on: 'Benachrichtigungen sind in diesem Browser eingeschaltet.',
  off: 'Benachrichtigungen sind in diesem Browser ausgeschaltet.',
  denied: 'Ihr Browser blockiert Benachrichtigungen dieses Hubs.',
  deniedText:
    'Öffnen Sie neben der Adresse die Einstellungen dieser Website und erlauben Sie Benachrichtigungen. Prüfen Sie es danach erneut.',
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
