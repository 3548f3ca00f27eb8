/** Default descriptions of parameters. A description in the declaration of an operation takes precedence. */

/** The subject of `{id}`, by the path segment before it. */
const subjects: Record<string, string> = {
  conversations: 'conversation',
  'canned-replies': 'canned reply',
  files: 'file',
  visitors: 'visitor',
  'ai-suggestions': 'suggestion',
  webhooks: 'webhook',
  runs: 'run',
  workflows: 'workflow',
  sequences: 'sequence',
  flows: 'flow',
  approvals: 'approval',
  agents: 'agent',
  'tool-profiles': 'tool profile',
  unanswered: 'unanswered question',
  sessions: 'session',
  channels: 'channel',
  nodes: 'node',
  artifacts: 'artifact',
  calls: 'call',
  connections: 'connection',
  '{resource}': 'resource',
  lists: 'list',
  contacts: 'contact',
  campaigns: 'campaign',
  tokens: 'API token',
  filters: 'saved filter',
  invitations: 'invitation',
  'push-subscriptions': 'push subscription',
};

const path: Record<string, string> = {
  tenantId: 'Id of the workspace',
  userId: 'Id of the member',
  deliveryId: 'Id of the delivery',
  commandId: 'Id of the command',
  connectionId: 'Id of the connection',
  provider: 'Carrier',
  version: 'Number of the version',
  resource: 'Type of the resource',
  skillId: 'Id of the skill in the catalog',
  modelId: 'Your own name for the model',
  packId: 'Id of the pack',
  name: 'Name of the artifact',
};

const query: Record<string, string> = {
  status: 'Returns only items in this status',
  workflowId: 'Returns only items of this workflow',
  runId: 'Returns only items of this run',
  view: 'Returns only the conversations of this view of the inbox',
  after: 'Returns only messages after this `seq` (in the inbox: position), oldest first',
  before: 'Returns only messages before this `seq` (in the inbox: position)',
  q: 'Words to search for',
  private: '`true` returns only notes, `false` only messages',
  blocked: '`true` returns only blocked visitors, `false` only others',
  event: 'Returns only deliveries of this event',
  environment: 'Returns only items of this environment',
  active: '`true` returns only active items, `false` only inactive ones',
  dryRun: '`true` returns what the run would do, without starting it',
  scope: 'Returns only sessions of this scope',
  key: 'Returns only items with this key',
  sessionId: 'Returns only items of this session',
  provider: 'Returns only channels of this provider',
  channel: 'Returns only messages sent through this channel',
  level: 'Returns only lines of this level',
  window: 'Length of the measured time window, which ends now',
  'hub.mode': 'Sent by WhatsApp when it verifies the address: `subscribe`',
  'hub.verify_token': 'Sent by WhatsApp when it verifies the address: the verify token of the channel',
  'hub.challenge': 'Sent by WhatsApp when it verifies the address: the text to return',
  contentType: 'Media type of the artifact, such as `image/png`',
  direction: 'Returns only calls in this direction',
  result: 'Returns only calls with this result',
  format: 'Format of the export',
  name: 'Name of the file',
  actor: 'Returns only entries of this actor, such as `user:ID`',
  targetType: 'Returns only entries about this type of target, such as `workflow`',
  targetId: 'Returns only entries about the target with this id',
  revokeKeys: '`true` also revokes the API keys that the member created',
};

/** The default description of a parameter by name and path; undefined without one. */
export function parameterDescription(
  location: 'path' | 'query',
  name: string,
  operationPath: string,
): string | undefined {
  if (location === 'query') return query[name];
  if (name !== 'id') return path[name];
  const before = operationPath.slice(0, operationPath.indexOf('/{id}')).split('/').at(-1) ?? '';
  const subject = subjects[before];
  return subject === undefined ? undefined : `Id of the ${subject}`;
}
