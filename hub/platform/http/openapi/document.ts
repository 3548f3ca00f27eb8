import type { z } from 'zod';
import { voiceSockets } from '../../../../shared/contract/ai/voice.ts';
import { operations } from '../../../../shared/contract/api.ts';
import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import { chatSockets } from '../../../../shared/contract/chat/live.ts';
import { errorBody } from '../../../../shared/contract/common.ts';
import { acceptedPermissions } from '../../../../shared/contract/define.ts';
import type { Caller, Operation } from '../../../../shared/contract/define.ts';
import { nodeChannel } from '../../../../shared/contract/nodes/channel.ts';
import { errorCodes, reasonPhrase } from '../../../../shared/errors.ts';
import { describeSchemas } from './components.ts';
import type { DescribedSchemas, Json } from './components.ts';
import { errorCodesOf } from './error-codes.ts';
import { Examples } from './examples.ts';
import { parametersOf, sharedParameters } from './parameters.ts';

const securitySchemes: Record<string, Json> = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'API key: `Authorization: Bearer key_live_automations_…`',
  },
  apiKeyHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'API key in the `X-API-Key` header',
  },
  workspaceJwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Token from `POST /auth/login`' },
  webhookToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Automation-Token',
    description: '`webhook.token` of the trigger of a workflow',
  },
  deviceSecret: { type: 'http', scheme: 'bearer', description: 'Device secret from the claim' },
  visitorSession: { type: 'http', scheme: 'bearer', description: 'Token from `POST /widget/v1/token`' },
  platformKey: { type: 'http', scheme: 'bearer', description: 'Platform admin key (`PLATFORM_ADMIN_KEY`)' },
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

/** Descriptions of the tags. */
const tagDescriptions: Record<string, string> = {
  Workflows: 'Workflows: a trigger and steps. Every change creates a version.',
  Sequences: 'Steps with delays, executed by a workflow.',
  Runs: 'Executions of workflows: start, stream, cancel, retry and replay.',
  Flows: 'Groups of a run and its retries.',
  'Inbound hook': 'Starts workflows by an HTTP request.',
  'Live Chat': 'Hosted chats for servers: sessions, conversations, messages and visitors.',
  'Live Chat inbox': 'Chats for agents: conversations, replies and notes, visitors, search and settings.',
  'Live Chat page': 'Chats for the hosted page and the widget, for one visitor.',
  'AI Agent': 'AI runs, the AI agent in chats, voice, usage and budget.',
  Webhooks: 'URLs that receive signed chat events, and their deliveries.',
  Approvals: 'Steps and commands that wait for the decision of a person.',
  Policy: 'Rules for all workflows of a workspace: quiet hours, limits, approvals, retention.',
  Agents: 'Prompts, models and tools of agent steps.',
  'Tool profiles': 'Skills that an agent may call.',
  'AI knowledge': 'Knowledge that the AI of a workspace answers from, and unanswered questions.',
  Models: 'Models of a workspace and their failover order.',
  Sessions: 'Conversations of agents, with transcripts.',
  Memory: 'Stored values of runs and agents.',
  Channels: 'Chat and mail providers that receive and send messages.',
  'Messages and logs': 'Outbound messages and log lines of runs, as lists and streams.',
  Skills: 'Actions for steps, agents and direct calls, with the schemas of inputs and outputs.',
  'Skill packs': 'Installable workflows with declared permissions.',
  Insight: 'Metrics and setup progress.',
  'Companion nodes': 'Machines that workflows control: pairing, commands and results.',
  Artifacts: 'Screenshots, recordings and files from commands.',
  'Business Calling': 'Call records and summaries. The hub does not place calls.',
  SIP: 'SIP trunk and hosted SIP of a workspace.',
  'Call connections': 'Carriers of a workspace and the URLs for their call events.',
  Dashboard: 'Automations for signed-in users.',
  'Live events': 'Stream of changes in a workspace.',
  'Audit log': 'Changes with their actors.',
  Usage: 'Usage of a workspace, for billing.',
  Marketing: 'Contact lists and campaigns.',
  'Workspaces and people': 'Sign-up, sign-in and members.',
  'API tokens': 'API keys.',
  Entitlements: 'Products that a workspace may use.',
  Health: 'Checks for load balancers and supervisors.',
};

/** Responses of the document by their status; every error has the same body. */
const errorResponses = new Map(
  [...new Set(Object.values(errorCodes).map(({ status }) => status))]
    .toSorted((left, right) => left - right)
    .map((status) => [status, reasonPhrase(status).replaceAll(/[^A-Za-z]/g, '')]),
);

/** Description of an operation with its required permission and role, and its specific error codes. */
function descriptionOf(operation: Operation): string {
  const codes = [
    ...(operation.errors ?? []),
    ...(operation.ifMatch === undefined ? [] : [operation.ifMatch]),
  ].toSorted();
  const accepted = acceptedPermissions(operation).map((permission) => `\`${permission}\``);
  const requirements = [
    ...(accepted.length === 0 ? [] : [`${accepted.join(' or ')} (API keys)`]),
    ...(operation.role === undefined ? [] : [operation.role === 'admin' ? 'role `admin` (users)' : 'any role (users)']),
  ];
  const requires = requirements.length === 0 ? undefined : `Requires ${requirements.join(' or ')}.`;
  const errors = codes.length === 0 ? undefined : `Errors: ${codes.map((code) => `\`${code}\``).join(', ')}.`;
  return [operation.description, requires, errors].filter((part) => part !== undefined).join('\n\n');
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
        description: 'One file for each artifact. The fields can have any name.',
      },
    },
  },
};

const contentOf = (types: readonly string[], content: Json): Json =>
  Object.fromEntries(types.map((type) => [type, content]));

/** The media type object of a schema, with an example. */
type MediaType = (schema: z.ZodType) => Json;

function requestOf(operation: Operation, json: MediaType): Json | null {
  if (operation.upload === true) return { required: false, content: { 'application/octet-stream': bytes } };
  if (operation.bodyTypes !== undefined)
    return { required: true, content: contentOf(operation.bodyTypes, { schema: { type: 'object' }, example: {} }) };
  if (operation.body === undefined) return null;
  return {
    required: operation.bodyOptional !== true,
    content: {
      'application/json': json(operation.body),
      ...(operation.multipart === true ? { 'multipart/form-data': multipartResult } : {}),
    },
  };
}

function responseOf(operation: Operation, json: MediaType): Json {
  const types = [operation.binaryResponse ?? []].flat();
  if (operation.streamedEvent !== undefined)
    return {
      description: `Server-sent events. Each has the lines \`event:\` with its type, ${operation.resumable === true ? '`id:` for `Last-Event-ID`, ' : ''}and \`data:\` with JSON of this schema`,
      content: contentOf(types, json(operation.streamedEvent)),
    };
  const schema = jsonResponseOf(operation);
  return {
    description: types.length > 0 ? 'Content' : 'OK',
    content: { ...contentOf(types, bytes), ...(schema === undefined ? {} : { 'application/json': json(schema) }) },
  };
}

/** The schema of the response as JSON, or of the data of each event. */
const jsonResponseOf = ({ streamedEvent, binaryResponse, binaryJson, response }: Operation): z.ZodType | undefined =>
  streamedEvent ?? (binaryResponse === undefined ? response : binaryJson);

/** The response to a request with `Range`. */
const rangeOf = (operation: Operation): Json => ({
  description: 'Content of the range',
  headers: {
    ...headersOf(operation),
    'Content-Range': {
      description: 'First and last byte of the range, and the total size',
      schema: { type: 'string', example: 'bytes 0-1023/146515' },
    },
  },
  content: contentOf([operation.binaryResponse ?? []].flat(), bytes),
});

const sharedHeaders: Record<string, Json> = {
  'X-Request-ID': {
    description:
      'Id of the request in the log. Callers can send their own, of 1 to 128 characters of A-Z a-z 0-9 . _ -',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': {
    description: 'Requests per window. In a 429 response, the limit that was reached, if it counts requests.',
    schema: { type: 'integer' },
  },
  'X-RateLimit-Remaining': { description: 'Requests left in the window', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'End of the window, in Unix seconds', schema: { type: 'integer' } },
  'Retry-After': { description: 'Seconds to wait before the next attempt', schema: { type: 'integer' } },
};
const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
const headersBy = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Callers with their own rate limit, whose state is in each response. */
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

/** The OpenAPI 3.0.3 document of all operations. */
export function openApiDocument(): Json {
  const { input, output, components } = describeSchemas(
    operations.flatMap(({ params, query, body }) => [params, query, body].filter((schema) => schema !== undefined)),
    [errorBody, ...operations.map(jsonResponseOf).filter((schema) => schema !== undefined)],
  );
  const examples = new Examples((reference) => components[reference.split('/').at(-1) as string]);
  const mediaTypeIn =
    (schemas: DescribedSchemas['input']): MediaType =>
    (contractSchema) => {
      const schema = schemas.get(contractSchema) as Json;
      return { schema, example: examples.of(schema) };
    };
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const parameters = parametersOf(operation, input);
    const request = requestOf(operation, mediaTypeIn(input));
    const statuses = [...new Set(errorCodesOf(operation).map((code) => errorCodes[code].status))].toSorted(
      (left, right) => left - right,
    );
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = {
      operationId: operation.id,
      tags: [operation.tag],
      summary: operation.summary,
      description: descriptionOf(operation),
      security: operation.callers.flatMap((caller) => callerSecurity[caller]),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(request === null ? {} : { requestBody: request }),
      responses: {
        200: { ...responseOf(operation, mediaTypeIn(output)), headers: headersOf(operation) },
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
        'Durable workflows that control real machines. The version is that of the API; the start page and `outrigger --version` show the version of the hub. All errors have the same body: `code` is stable, `message` explains what to do. Every response has `X-Request-ID`. `x-websockets` lists the WebSockets, which OpenAPI cannot describe.',
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
      schemas: components,
    },
  };
}
