/** Texts of the schedules pages. */
export const schedules = {
  intro: 'Times are in the time zone of the schedule and in yours ({zone}).',
  emptyTitle: 'No scheduled workflows',
  emptyText:
    'A workflow with the trigger schedule or heartbeat starts by itself. Set it on the Edit tab of a workflow.',
  emptyPage: 'None of the workflows read so far has a schedule.',
  toWorkflows: 'Workflows',
  none: 'It has no further times.',
  off: 'The workflow is off, so nothing starts. These would be its times:',
  inZone: 'Time there ({zone})',
  here: 'Time here',
  distance: 'When',
  clockChange: 'clock change',
  clockChangeText: 'The clocks of this time zone change before this time.',
  showMore: 'Show 10 more times',
  readMore: 'Read more workflows',
  missed: 'Missed times',
  onMissed: { skip: 'are skipped', last: 'the last one starts', all: 'all start, {count} at most' },
  overlap: 'If a run is in progress',
  overlaps: { allow: 'another one starts', skip: 'the time is skipped', queue: 'the new run waits' },
  jitter: 'Random delay',
  jitterText: 'up to {time}',
};
