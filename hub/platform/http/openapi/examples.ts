import type { Json } from './components.ts';

/** Realistic example values by property name. */
const byName: Record<string, unknown> = {
  when: '{{payload.urgent}}',
  name: 'Invoice reminder',
  tag: 'office',
  title: 'Send the reminder?',
  message: 'The invoice is a week late.',
  summary: 'Reminds customers of late invoices.',
  description: 'A machine at the front desk',
  email: 'ada@example.com',
  recipient: 'ada@example.com',
  approver: 'ada@example.com',
  password: 'correct horse battery',
  workspaceName: 'acme',
  displayName: 'Ada Lovelace',
  client: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  code: 'step_failed',
  text: 'Good morning',
  subject: 'Your invoice',
  html: '<p>Your invoice is ready.</p>',
  systemPrompt: 'You help the office of a small company.',
  model: 'gpt-5',
  skillId: 'memory.write',
  channel: 'email',
  key: 'customer:42',
  keyHint: 'key_live_automations_a1b2…',
  token: 'eyJhbGciOiJIUzI1NiJ9.e30.x',
  pairingCode: 'ABCD-EFGH',
  pairingUri: 'outrigger://pair?code=ABCD-EFGH&hub=https%3A%2F%2Fhub.example.com',
  deviceSecret: 'the secret of this device, shown once',
  inboundPath: '/v1/automations/channels/01980000-0000-7000-8000-000000000007/inbound',
  nextCursor: null,
  limit: 50,
  timezone: 'Europe/Berlin',
  nodeName: 'Front desk',
  platform: 'linux',
  arch: 'x64',
  osVersion: 'Debian 12',
  appVersion: '0.1.0',
  capabilities: ['node.ping', 'node.screenshot'],
  allow: ['memory.*'],
  deny: [],
  routeKeys: ['telegram'],
  order: ['main'],
  context: 'from the nightly import',
  standingOrders: 'Answer in the language of the customer.',
  memorySummary: 'Ada prefers mails in the morning.',
  content: 'When does the shop open?',
  note: 'Agreed by phone.',
  reason: 'The knowledge says so.',
  disclosure: 'You are talking to an assistant.',
  decidedBy: 'ada@example.com',
  actor: 'user:01980000-0000-7000-8000-000000000001',
  action: 'workflow.updated',
  targetType: 'workflow',
  targetId: '01980000-0000-7000-8000-000000000002',
  error: null,
  accountSid: 'AC0123456789abcdef0123456789abcdef',
  agentName: 'Grace',
  agentPicture: '/widget/v1/pictures/6f0d9f8e-3f0a-4d37-9d1c-9c0b4f6d2a11',
  picture: '/widget/v1/pictures/6f0d9f8e-3f0a-4d37-9d1c-9c0b4f6d2a11',
  senderPicture: '/widget/v1/pictures/6f0d9f8e-3f0a-4d37-9d1c-9c0b4f6d2a11',
  apiBaseUrl: 'https://api.twilio.com',
  answer: 'Monday to Friday from 9 to 17 o’clock.',
  approvalsRequiredFor: ['campaign.send'],
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  awayMessage: 'We are back on Monday at nine.',
  baseUrl: 'https://models.example.com/v1',
  body: '{"eventId":"01980000-0000-7000-8000-000000000004","event":"message.created"}',
  clientId: 'reply-1',
  colour: '#0b2545',
  comment: 'Quick and kind.',
  contentType: 'image/png',
  conversationName: 'Ada Lovelace',
  disabledReason: null,
  display_name: 'Ada Lovelace',
  effect: 'Stores a value in the memory of the workspace.',
  endpoint: 'https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV',
  previousEndpoint: 'https://push.example.net/push/uVf0mQ2Jr9eT5kLwXa7cYpB3nHs8dGzE',
  errorCode: null,
  eventId: '01980000-0000-7000-8000-000000000004',
  externalId: 'customer-42',
  external_id: 'customer-42',
  greeting: 'Hello! How can we help?',
  host: 'api.example.com',
  id: 'save',
  installedVersion: '1.0.0',
  ipAllowlist: ['203.0.113.0/24'],
  last_address: '203.0.113.0',
  lastError: null,
  locale: 'en',
  mount: '/',
  outputText: 'Wrote customer:42.',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  phone: '+49 30 1234567',
  publicKey: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
  publisher: 'outrigger',
  question: 'When are you open?',
  requestHash: 'ab'.repeat(32),
  requires: ['automations'],
  response: 'ok',
  secrets: ['apiKey'],
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
  secretHint: 'whsec_…GKYo=',
  secretsSet: ['botToken'],
  senderId: null,
  senderName: 'Ada Lovelace',
  senderType: 'visitor',
  shortcut: 'hours',
  siteKey: 'wgt_0PcYxEJ8kq3Zt5mWvB7dRn2s',
  skill: 'memory.write',
  source: 'website',
  terms: 'Goods can be returned within 30 days.',
  type: 'skill',
  url: 'https://example.com/hooks/outrigger',
  visitorName: 'Ada Lovelace',
  visitorToken: 'cvt_qJ4T8zFh1n0RkVYw6sLxGm3uB9eKc2dPa7iOyXtN5vE',
  why: 'Workflows do the work; everything else supports them.',
  workflowName: 'Invoice reminder',
};

const at = '2026-01-31T09:00:00.000Z';
const times: Record<string, string> = {
  expiresAt: '2026-02-28T09:00:00.000Z',
  finishedAt: '2026-01-31T09:00:02.000Z',
  decidedAt: '2026-01-31T09:00:05.000Z',
  nextRunAt: '2026-02-01T09:00:00.000Z',
};

/** A stable UUID for each property name. */
function idOf(name: string): string {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 0xffff_ffff;
  return `01980000-0000-7000-8000-${sum.toString(16).padStart(12, '0')}`;
}

interface SchemaNode {
  [key: string]: unknown;
  $ref?: string;
  type?: string;
  format?: string;
  enum?: unknown[];
  properties?: Record<string, SchemaNode>;
  required?: string[];
  items?: SchemaNode;
  minItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

/**
 * Creates examples of schemas: the `example` of the schema, otherwise a value by property name within the bounds.
 * @throws Error for a text property without an example, instead of using its name as the value.
 */
export class Examples {
  readonly #find: (reference: string) => Json | undefined;

  constructor(find: (reference: string) => Json | undefined) {
    this.#find = find;
  }

  of(schema: Json, name = ''): unknown {
    const node = schema as SchemaNode;
    if ('example' in node) return node['example'];
    if (node.$ref !== undefined) return this.of(this.#find(node.$ref) ?? {}, name);
    if (node.enum !== undefined) return node.enum[0];
    const [choice] = [node['allOf'], node['oneOf'], node['anyOf']]
      .filter((list) => Array.isArray(list))
      .flat() as Json[];
    if (choice !== undefined) return this.of(choice, name);
    if (node.properties !== undefined) return this.#object(node);
    if (node.type === 'array') return this.#array(node, name);
    if (node.type === 'object') return {};
    return fits(node, byName[name]) ? byName[name] : plain(node, name);
  }

  #object({ properties = {}, required = [] }: SchemaNode): Json {
    const shown = Object.entries(properties).filter(
      ([name, property]) => required.includes(name) || 'example' in property,
    );
    return Object.fromEntries(shown.map(([name, property]) => [name, this.of(property, name)]));
  }

  #array(node: SchemaNode, name: string): unknown {
    if (Array.isArray(byName[name])) return byName[name];
    const item = this.of(node.items ?? {}, name.replace(/s$/, ''));
    return Array.from({ length: Math.max(1, node.minItems ?? 1) }, () => item);
  }
}

function fits(
  { type, format, nullable, minLength = 0, maxLength = Infinity, minimum = -Infinity, maximum = Infinity }: SchemaNode,
  value: unknown,
): boolean {
  if (value === undefined || format !== undefined) return false;
  if (value === null) return nullable === true;
  if (type === 'string') return typeof value === 'string' && value.length >= minLength && value.length <= maxLength;
  if (type === 'integer' || type === 'number') return typeof value === 'number' && value >= minimum && value <= maximum;
  return type === undefined;
}

function plain({ type, format, minimum = 0, maximum = Infinity }: SchemaNode, name: string): unknown {
  switch (format) {
    case 'uuid':
      return idOf(name);
    case 'date-time':
      return times[name] ?? at;
    case 'email':
      return 'ada@example.com';
    case 'uri':
      return 'https://example.com/';
    case 'byte':
      return 'aGVsbG8=';
    default:
  }
  switch (type) {
    case 'string':
      throw new Error(`examples.ts has no example for the text property "${name}". Add one to byName.`);
    case 'integer':
    case 'number':
      return Math.min(Math.max(1, minimum), maximum);
    case 'boolean':
      return true;
    default:
      return { invoice: 42 };
  }
}
