import { voiceSockets } from '../../../../shared/contract/ai/voice.ts';
import { operations } from '../../../../shared/contract/api.ts';
import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import { chatSockets } from '../../../../shared/contract/chat/live.ts';
import { errorBody } from '../../../../shared/contract/common.ts';
import { acceptedPermissions } from '../../../../shared/contract/define.ts';
import type { Caller, Operation } from '../../../../shared/contract/define.ts';
import { nodeChannel } from '../../../../shared/contract/nodes/channel.ts';
import { errorCodes, reasonPhrase } from '../../../../shared/errors.ts';
import { SchemaComponents } from './components.ts';
import type { Json } from './components.ts';
import { errorCodesOf } from './error-codes.ts';
import { Examples } from './examples.ts';
import { parametersOf, sharedParameters } from './parameters.ts';

const securitySchemes: Record<string, Json> = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token: `Authorization: Bearer key_live_automations_…`',
  },
  apiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The same token in a header of its own',
  },
  workspaceJwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'What /auth/login answers' },
  webhookToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Automation-Token',
    description: "The webhook.token of a workflow's trigger",
  },
  deviceSecret: { type: 'http', scheme: 'bearer', description: 'What a claim answers, once' },
  visitorSession: { type: 'http', scheme: 'bearer', description: 'What /widget/v1/token answers a page' },
  platformKey: { type: 'http', scheme: 'bearer', description: 'PLATFORM_ADMIN_KEY' },
};

const callerSecurity: Record<Caller, Json[]> = {
  public: [],
  pairing: [],
  token: [{ apiKey: [] }, { apiKeyHeader: [] }],
  session: [{ workspaceJwt: [] }],
  hook: [{ apiKey: [] }, { apiKeyHeader: [] }, { webhookToken: [] }],
  channel: [{ webhookToken: [] }, { apiKey: [] }, { apiKeyHeader: [] }],
  device: [{ deviceSecret: [] }],
  visitor: [{ visitorSession: [] }],
  platform: [{ platformKey: [] }],
};

/** What each tag gathers. */
const tagDescriptions: Record<string, string> = {
  Workflows: 'A trigger and the steps that it starts; every change makes a version.',
  Sequences: 'Steps over time, run through a workflow of their own.',
  Runs: 'What workflows do: started, followed, cancelled, retried and replayed.',
  Flows: 'The ledger entry that a run and its retries share.',
  'Inbound hook': 'Starts workflows from outside.',
  'Live Chat': 'Hosted chats: sessions for people, their conversations, messages and visitors.',
  'Live Chat inbox': 'What agents do: conversations, replies and notes, the people who write, search and settings.',
  'Live Chat page': 'What the hosted page and the widget ask of the hub for one visitor.',
  'AI Agent': 'Questions to models, answered from what the workspace knows, and the agent that answers in chats.',
  Webhooks: 'Addresses that get what happens in chats, signed, and what became of each delivery.',
  Approvals: 'What waits for a person, and what they decided.',
  Policy: 'Rules for all workflows of a workspace: quiet hours, limits, approvals, retention.',
  Agents: 'Prompts, models and tools that agent steps use.',
  'Tool profiles': 'Which skills an agent may call.',
  'AI knowledge': 'What the AI of a workspace answers from, and the questions to which it found nothing.',
  Models: 'Models that a workspace uses, and the order in which they are tried.',
  Sessions: 'Conversations of agents with people, with their transcripts.',
  Memory: 'Values that runs and agents remember.',
  Channels: 'Chat and mail providers that messages come from and go to.',
  'Messages and logs': 'What left the platform, and what runs logged; as lists and live.',
  Skills: 'What steps, agents and calls of their own can do, with the schemas of what each takes and puts out.',
  'Skill packs': 'Workflows to install, with what they may do.',
  Insight: 'How well all goes, and what is left to set up.',
  'Companion nodes': "People's machines that workflows reach: pairing, commands, results.",
  Artefacts: 'Screenshots, recordings and files that commands brought.',
  'Business Calling': 'Records of calls and how much was called; nothing here dials.',
  SIP: 'The SIP trunk of a workspace.',
  'Call connections': 'Carriers of a workspace, and the address where each says what happens to calls.',
  Dashboard: 'Automations for signed-in people.',
  'Live events': 'What changes in a workspace, as it does.',
  'Audit log': 'Who changed what.',
  Usage: 'What a workspace used, for billing.',
  Marketing: 'Contact lists and campaigns.',
  'Workspaces and people': 'Sign-up, sign-in and members.',
  'API tokens': 'Keys of API clients.',
  Entitlements: 'Which products a workspace may use.',
  Health: 'For load balancers and supervisors.',
};

/** Responses of the document by their status; every error has the same body. */
const errorResponses = new Map(
  [...new Set(Object.values(errorCodes).map(({ status }) => status))]
    .toSorted((left, right) => left - right)
    .map((status) => [status, reasonPhrase(status).replaceAll(/[^A-Za-z]/g, '')]),
);

/** What it does, what it needs, and the errors that are its own; those of every call stand at the responses. */
function descriptionOf(operation: Operation): string {
  const codes = [
    ...(operation.errors ?? []),
    ...(operation.ifMatch === undefined ? [] : [operation.ifMatch]),
  ].toSorted();
  const accepted = acceptedPermissions(operation).map((permission) => `\`${permission}\``);
  const ofToken = accepted.length === 0 ? undefined : `the permission ${accepted.join(' or ')}`;
  const ofSession =
    operation.role === undefined
      ? undefined
      : `the role ${operation.role === 'admin' ? '`admin`' : '`agent` or `admin`'}`;
  const needs =
    ofToken !== undefined && ofSession !== undefined
      ? `A key needs ${ofToken}, a person ${ofSession}.`
      : (ofToken ?? ofSession) === undefined
        ? undefined
        : `Needs ${ofToken ?? ofSession}.`;
  const errors = codes.length === 0 ? undefined : `Its own errors: ${codes.map((code) => `\`${code}\``).join(', ')}.`;
  return [operation.description, needs, errors].filter((part) => part !== undefined).join('\n\n');
}

const bytes = { schema: { type: 'string', format: 'binary' } };
const multipartResult = {
  schema: {
    type: 'object',
    required: ['result'],
    properties: {
      result: { type: 'string', description: 'The JSON body, without artifacts' },
      artifacts: {
        type: 'array',
        items: { type: 'string', format: 'binary' },
        description: 'One file for each artifact. Their fields may have other names.',
      },
    },
  },
};

const contentOf = (types: readonly string[], content: Json): Json =>
  Object.fromEntries(types.map((type) => [type, content]));

function requestOf(operation: Operation, components: SchemaComponents): Json | null {
  if (operation.upload === true) return { required: false, content: { 'application/octet-stream': bytes } };
  if (operation.bodyTypes !== undefined)
    return { required: true, content: contentOf(operation.bodyTypes, { schema: { type: 'object' } }) };
  if (operation.body === undefined) return null;
  return {
    required: operation.bodyOptional !== true,
    content: {
      'application/json': { schema: components.describe(operation.body, 'input') },
      ...(operation.multipart === true ? { 'multipart/form-data': multipartResult } : {}),
    },
  };
}

function answerOf(operation: Operation, components: SchemaComponents): Json {
  const types = operation.binaryResponse === undefined ? [] : [operation.binaryResponse].flat();
  if (operation.streamedEvent !== undefined)
    return {
      description: `The events, each as the lines \`event:\` with its type, ${operation.resumable === true ? '`id:` for `Last-Event-ID`, ' : ''}and \`data:\` with JSON as shown here`,
      content: contentOf(types, { schema: components.describe(operation.streamedEvent, 'output') }),
    };
  if (types.length > 0) {
    const json =
      operation.binaryJson === undefined
        ? {}
        : { 'application/json': { schema: components.describe(operation.binaryJson, 'output') } };
    return { description: 'The bytes', content: { ...contentOf(types, bytes), ...json } };
  }
  return {
    description: 'OK',
    content: { 'application/json': { schema: components.describe(operation.response, 'output') } },
  };
}

/** The answer to a request with `Range`. */
const rangeOf = (operation: Operation): Json => ({
  description: 'The bytes of the range',
  headers: {
    ...headersOf(operation),
    'Content-Range': {
      description: 'First and last byte of the range, and the size of the whole',
      schema: { type: 'string', example: 'bytes 0-1023/146515' },
    },
  },
  content: contentOf([operation.binaryResponse ?? []].flat(), bytes),
});

/** A body with an example of its JSON. */
function withExample(body: Json, examples: Examples): Json {
  const { content } = body as { content: Record<string, { schema: Json }> };
  const type = ['application/json', 'text/event-stream'].find((each) => content[each] !== undefined);
  const shown = type === undefined ? undefined : content[type];
  return type === undefined || shown === undefined || shown.schema['format'] === 'binary'
    ? body
    : { ...body, content: { ...content, [type]: { ...shown, example: examples.of(shown.schema) } } };
}

const sharedHeaders: Record<string, Json> = {
  'X-Request-ID': {
    description:
      'The id of this request in the log. A caller may send its own, of 1 to 128 characters of A-Z a-z 0-9 . _ -',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': {
    description: 'Requests a window. A 429 names the limit that was reached, if it counts requests.',
    schema: { type: 'integer' },
  },
  'X-RateLimit-Remaining': { description: 'Requests left in the window', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'When the window ends, in Unix seconds', schema: { type: 'integer' } },
  'Retry-After': { description: 'Seconds until a new try makes sense', schema: { type: 'integer' } },
};
const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
const headersBy = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Callers that have a limit of their own, whose state each answer names. */
const limitedCallers: readonly Caller[] = ['token', 'hook', 'channel', 'session', 'visitor'];
const headersOf = ({ callers, ipLimit }: Operation): Json =>
  headersBy([
    'X-Request-ID',
    ...(ipLimit !== undefined || callers.some((caller) => limitedCallers.includes(caller)) ? rateLimitHeaders : []),
  ]);
const errorHeaders = (status: number): Json =>
  headersBy([
    'X-Request-ID',
    ...(status === 429 ? rateLimitHeaders : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
  ]);

/** Operations that become WebSockets. */
const socketOperations: readonly Operation[] = [voiceSockets, sipSockets, nodeChannel, chatSockets].flatMap(
  (resource) => Object.values(resource as Record<string, Operation>).filter(({ socket }) => socket !== undefined),
);

const describeSocket = (operation: Operation): Json => ({
  operationId: operation.id,
  path: operation.path,
  summary: operation.summary,
  description: descriptionOf(operation),
  subprotocol: operation.socket?.protocol ?? null,
  subprotocolRequired: operation.socket?.otherProtocols !== true,
  maxFrameBytes: operation.socket?.maxFrameBytes ?? null,
  tokenInQuery: operation.socket?.tokenInQuery === true,
  security: operation.callers.flatMap((caller) => callerSecurity[caller]),
});

/** The OpenAPI 3.0.3 document of every operation. */
export function openApiDocument(): Json {
  const components = new SchemaComponents();
  components.describe(errorBody, 'output');
  const described = operations.map((operation) => ({
    operation,
    request: requestOf(operation, components),
    answer: answerOf(operation, components),
  }));
  const { schemas, refer } = components.finish();
  const paths: Record<string, Json> = {};
  const examples = new Examples((reference) => schemas[reference.split('/').at(-1) as string]);
  for (const { operation, request, answer } of described) {
    const codes = errorCodesOf(operation);
    const parameters = parametersOf(operation);
    const statuses = [...new Set(codes.map((code) => errorCodes[code].status))].toSorted((left, right) => left - right);
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = {
      operationId: operation.id,
      tags: [operation.tag],
      summary: operation.summary,
      description: descriptionOf(operation),
      security: operation.callers.flatMap((caller) => callerSecurity[caller]),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(request === null ? {} : { requestBody: withExample(refer(request, 'input'), examples) }),
      responses: {
        200: { ...withExample(refer(answer, 'output'), examples), headers: headersOf(operation) },
        ...(operation.ranges === true ? { 206: rangeOf(operation) } : {}),
        ...Object.fromEntries(
          statuses.map((status) => [status, { $ref: `#/components/responses/${errorResponses.get(status)}` }]),
        ),
      },
    };
  }
  const used = Map.groupBy(new Set(operations.flatMap(errorCodesOf)), (code) => errorCodes[code].status);
  const error = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  return {
    openapi: '3.0.3',
    info: {
      title: 'Outrigger',
      version: '1.6.0',
      description:
        'Durable workflows that reach real machines. The version is that of the API; the start page and `outrigger --version` show that of the hub. Every error has the same body; `code` is stable, `message` says what to do. Every response carries `X-Request-ID`. `x-websockets` lists the WebSockets, which OpenAPI can not describe.',
      contact: { name: 'Operator of this hub' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [
      { url: '/', description: 'This hub' },
      { url: 'https://{host}', description: 'Production', variables: { host: { default: 'hub.example.com' } } },
      { url: 'https://{host}', description: 'Staging', variables: { host: { default: 'staging.hub.example.com' } } },
    ],
    tags: [...new Set(operations.map((operation) => operation.tag))].map((name) => ({
      name,
      description: tagDescriptions[name],
    })),
    paths,
    'x-websockets': socketOperations.map(describeSocket),
    components: {
      securitySchemes,
      parameters: sharedParameters,
      headers: sharedHeaders,
      responses: Object.fromEntries(
        [...errorResponses]
          .filter(([status]) => used.has(status))
          .map(([status, name]) => {
            const codes = (used.get(status) ?? []).toSorted().map((code) => `\`${code}\``);
            return [
              name,
              {
                description: `${reasonPhrase(status)}: ${codes.join(', ')}`,
                headers: errorHeaders(status),
                content: error,
              },
            ];
          }),
      ),
      schemas,
    },
  };
}
