import type { settings as english } from '../english/settings.ts';
import { access } from './settings-access.ts';
import { ai } from './settings-ai.ts';
import { carriers } from './settings-carriers.ts';
import { chat } from './settings-chat.ts';
import { records } from './settings-records.ts';
import { webhooks } from './settings-webhooks.ts';

/** Texts of the settings pages. */
export const settings: typeof english = {
  missing: 'Die Einstellungen haben keinen Bereich mit diesem Namen',
  groups: {
    workspace: 'Arbeitsbereich',
    chat: 'Live-Chat',
    automations: 'Automatisierung',
    calls: 'Anrufe',
    ai: 'KI',
    developers: 'Entwicklung',
    records: 'Protokolle',
  },
  sections: {
    profile: { title: 'Ihr Profil', text: 'Ihr Name, Ihr Bild, Ihre Sprache und Ihr Passwort.' },
    members: { title: 'Mitglieder', text: 'Wer sich in diesem Arbeitsbereich anmelden kann und was wer darf.' },
    entitlements: { title: 'Arbeitsbereich', text: 'Sein Name und die Produkte, die er nutzen kann.' },
    chat: {
      title: 'Chat',
      text: 'Wie der Chat auf Ihrer Website aussieht, wer ihn nutzen darf und wann er geöffnet ist.',
    },
    'chat-ai': { title: 'KI im Chat', text: 'Wann der KI-Agent Besuchern antwortet, und wie.' },
    channels: { title: 'Kanäle', text: 'Telegram, Slack, WhatsApp, E-Mail und Webhooks, die Nachrichten übertragen.' },
    policy: { title: 'Richtlinie', text: 'Regeln für alle Läufe: Freigaben, Ruhezeiten, Grenzen und Aufbewahrung.' },
    carriers: { title: 'Telefonanbieter und SIP', text: 'Anbieter, die Anrufe melden, und SIP für Softphones.' },
    models: { title: 'KI-Modelle', text: 'Welche Modelle antworten und welches folgt, wenn eines ausfällt.' },
    'ai-usage': {
      title: 'KI-Nutzung und Budget',
      text: 'Aufrufe, Tokens und Kosten der Modelle sowie die Grenze pro Tag.',
    },
    tokens: { title: 'API-Tokens', text: 'Schlüssel, mit denen Ihre Programme die API aufrufen.' },
    webhooks: { title: 'Webhooks', text: 'Ihre Adressen, an die der Hub Chat-Ereignisse sendet.' },
    origins: { title: 'Browser-Origins', text: 'Seiten auf anderen Hosts, die diesen Arbeitsbereich aufrufen dürfen.' },
    audit: { title: 'Audit-Protokoll', text: 'Wer was wann geändert hat.' },
    'usage-events': { title: 'Nutzungsereignisse', text: 'Ereignisse für die Abrechnung der letzten 400 Tage.' },
  },
  back: '‹ Alle Einstellungen',
  actions: 'Aktionen',
  adminsOnly: 'Nur Admins können diesen Abschnitt öffnen',
  adminsOnlyText: 'Fragen Sie einen Admin dieses Arbeitsbereichs, wenn Sie ihn brauchen.',
  adminsChange: 'Sie können diesen Abschnitt lesen. Nur Admins können ihn ändern.',
  notEntitled: 'In diesem Arbeitsbereich nicht enthalten: {product}',
  notEntitledText: 'Der Betreiber dieses Hubs kann es hinzufügen.',
  unsaved: 'Sie haben ungespeicherte Änderungen.',
  unsavedTitle: 'Ohne Speichern verlassen?',
  unsavedText:
    'Ihre Änderungen auf dieser Seite sind nicht gespeichert. Sie gehen verloren, wenn Sie die Seite verlassen.',
  stay: 'Bleiben',
  leave: 'Ohne Speichern verlassen',
  discard: 'Änderungen verwerfen',
  refusedFields: 'Nicht gespeichert. Bitte korrigieren: {fields}.',
  changedMeanwhile: 'Jemand anderes hat das inzwischen geändert. Ihre Änderungen sind nicht gespeichert.',
  conflictFields: 'Von jemand anderem und von Ihnen geändert: {fields}.',
  useTheirs: 'Andere Werte übernehmen',
  keepMine: 'Meine Werte behalten',
  shownOnce: 'Das wird nur einmal angezeigt. Speichern Sie es jetzt.',
  storedIt: 'Ich habe es gespeichert',
  toNewest: 'Zurück zu den neuesten',
  view: 'Ansicht',
  form: 'Formular',
  notJson: 'Das ist noch kein JSON. Das Formular behält den letzten gültigen Text.',
  timeZone: 'Zeitzone',
  daysUnit: 'Tage',
  ...access,
  ...webhooks,
  ...chat,
  ...carriers,
  ...ai,
  ...records,
};
