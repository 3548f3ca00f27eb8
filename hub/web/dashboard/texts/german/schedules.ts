import type { schedules as english } from '../english/schedules.ts';

/** Texts of the schedules pages. */
export const schedules: typeof english = {
  missing: 'Es gibt keinen Zeitplan mit dieser ID',
  intro: 'Die Zeiten stehen in der Zeitzone des Zeitplans und in Ihrer ({zone}).',
  emptyTitle: 'Keine Workflows mit Zeitplan',
  emptyText:
    'Ein Workflow mit dem Auslöser schedule oder heartbeat startet von selbst. Legen Sie ihn unter „Bearbeiten“ eines Workflows fest.',
  emptyPage: 'Keiner der bisher gelesenen Workflows hat einen Zeitplan.',
  toWorkflows: 'Workflows',
  none: 'Es gibt keine weiteren Zeiten.',
  off: 'Der Workflow ist ausgeschaltet, deshalb startet nichts. Das wären seine Zeiten:',
  inZone: 'Zeit dort ({zone})',
  here: 'Zeit hier',
  distance: 'Wann',
  clockChange: 'Zeitumstellung',
  clockChangeText: 'Vor diesem Zeitpunkt werden die Uhren dieser Zeitzone umgestellt.',
  showMore: '10 weitere Zeiten anzeigen',
  readMore: 'Weitere Workflows lesen',
  noSchedule: 'Dieser Workflow hat keinen Zeitplan',
  noScheduleText:
    'Er startet nicht zu bestimmten Zeiten. Legen Sie unter „Bearbeiten“ den Auslöser schedule oder heartbeat fest.',
  toWorkflow: 'Workflow',
  rule: 'Regel und nächste Zeiten',
  runs: 'Letzte Läufe',
  noRuns: 'Der Zeitplan hat noch keinen Lauf gestartet.',
  allRuns: 'Alle Läufe',
  run: 'Lauf',
  status: 'Status',
  took: 'Dauer',
  json: 'JSON',
  missed: 'Verpasste Zeiten',
  onMissed: { skip: 'werden übersprungen', last: 'die letzte startet', all: 'alle starten, höchstens {count}' },
  overlap: 'Wenn ein Lauf in Arbeit ist',
  overlaps: {
    allow: 'startet ein weiterer',
    skip: 'wird die Zeit übersprungen',
    queue: 'wartet der neue Lauf',
  },
  jitter: 'Zufällige Verzögerung',
  jitterText: 'bis zu {time}',
};
