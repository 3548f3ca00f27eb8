/** Texts of the sequences pages. */
export const sequences = {
  missing: 'There is no sequence with this id',
  empty: 'No sequences yet',
  emptyText:
    'A sequence is a list of steps that can wait days between them, such as reminders. You create it with the API.',
  name: 'Name',
  steps: 'Steps',
  changed: 'Changed',
  run: 'Run…',
  runTitle: 'Run {name}',
  runText: 'The steps run on the live environment: mails and messages are sent to real recipients.',
  payload: 'Payload as JSON',
  payloadHint: 'Steps read it as payload, for example {{payload.name}}.',
  payloadInvalid: 'This is not valid JSON. {reason}',
  payloadObject: 'The payload must be a JSON object, such as { "name": "Ann" }.',
  wait: 'waits {duration} first',
  json: 'JSON',
  workflow: 'Runs of this sequence',
};
