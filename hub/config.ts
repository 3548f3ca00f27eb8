import { z } from 'zod';
import { apiKeyPattern, modelProviders } from '../shared/contract/ai/models.ts';
import type { ModelProvider } from '../shared/contract/ai/models.ts';
import { currency } from '../shared/contract/ai/prices.ts';
import type { ModelPrices } from '../shared/contract/ai/prices.ts';
import { webOrigin } from '../shared/contract/core/allowed-origins.ts';
import { entitlementNames } from '../shared/contract/define.ts';
import type { Entitlement } from '../shared/contract/define.ts';
import { isAddressBlock } from './platform/address-block.ts';

/** Sources of settings: environment variables, and files for `NAME_FILE`. */
export interface SettingSources {
  env: Record<string, string | undefined>;
  readFile: (path: string) => string;
}

interface Setting {
  schema: z.ZodType;
  /** Text as the user would write it; empty when the setting has no default. */
  default: string;
  description: string;
  secret?: true;
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`);

/** Parses a decimal amount to millionths of the currency, without floating-point rounding. */
const decimalPrice = z
  .string()
  .regex(/^\d{1,5}(\.\d{1,6})?$/, 'must be an amount such as 1.25, with at most six decimals')
  .transform((text) => {
    const [whole = '', decimals = ''] = text.split('.');
    return Number(whole + decimals.padEnd(6, '0'));
  });

const modelKey = z.string().regex(...apiKeyPattern);

const list = (check: (item: string) => boolean, message: string) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .refine((items) => items.every(check), message);

const address = (protocols: string[], message: string) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), message);

/** Comma-separated `name=value` pairs with percent-encoded values, the format of OpenTelemetry settings. */
const pairs = z.string().transform((text, context) => {
  const found: Record<string, string> = {};
  for (const item of text.split(',').filter((part) => part.trim() !== '')) {
    const [, name, value] = /^([\w.-]+)\s*=([^]*)$/.exec(item.trim()) ?? [];
    if (name === undefined || value === undefined || !isPercentEncoded(value)) {
      context.addIssue({
        code: 'custom',
        message: 'must be name=value pairs separated by commas, values percent-encoded',
      });
      return z.NEVER;
    }
    found[name] = decodeURIComponent(value.trim());
  }
  return found;
});

const isPercentEncoded = (text: string) => !/%(?![0-9a-fA-F]{2})/.test(text);

/** All settings of the hub. Validation, defaults and the table in docs/reference/settings.md are derived from this object. */
const settings = {
  PORT: { schema: wholeNumber(0, 65_535), default: '4400', description: 'Port of the hub; 0 selects any free port' },
  HOST: {
    schema: z.string().min(1),
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` accepts connections from other machines',
  },
  PUBLIC_URL: {
    // Cookies and pages belong to a whole host.
    schema: address(['http:', 'https:'], 'must be an http or https address').refine((text) => {
      const url = URL.parse(text);
      return url === null || (/^\/*$/.test(url.pathname) && url.search === '' && url.hash === '');
    }, 'must have no path: give the hub a host name or a port of its own'),
    default: '',
    description: 'URL at which users and devices reach the hub, when it differs from HOST and PORT',
  },
  OUTRIGGER_HOME: {
    schema: z.string().min(1),
    default: '.outrigger',
    description: 'Data folder: embedded database, artifacts, secret key',
  },
  DATABASE_URL: {
    schema: address(['postgres:', 'postgresql:'], 'must be a postgres:// address'),
    default: '',
    description: 'PostgreSQL 14 or newer, instead of the embedded one',
    secret: true,
  },
  DATABASE_POOL_SIZE: {
    schema: wholeNumber(2, 500),
    default: '10',
    description:
      'Database connections per process; one workspace never uses all of them. Raise it for a database that is several milliseconds away',
  },
  REDIS_URL: {
    schema: address(['redis:', 'rediss:'], 'must be a redis:// or rediss:// address'),
    default: '',
    description: 'Redis or Valkey for queue, events and rate limits, instead of PostgreSQL',
    secret: true,
  },
  SECRET_KEY: {
    schema: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits; create one with: openssl rand -hex 32'),
    default: '',
    description:
      'Key that encrypts stored secrets. All processes need the same key; when omitted, it is created in the data folder',
    secret: true,
  },
  PLATFORM_ADMIN_KEY: {
    schema: z.string().min(24, 'must have at least 24 characters'),
    default: '',
    description: 'Key of the operator, for entitlements and packs of all workspaces; disabled when omitted',
    secret: true,
  },
  DEFAULT_ENTITLEMENTS: {
    schema: list(
      (item) => item === 'all' || (entitlementNames as readonly string[]).includes(item),
      `must be all, or a list of ${entitlementNames.join(', ')}`,
    ),
    default: 'all',
    description: 'Entitlements of a new workspace: `all`, or names separated by commas',
  },
  SIGN_UP: {
    schema: z.enum(['closed', 'open'], 'must be closed or open'),
    default: 'closed',
    description: '`open` lets everyone who can reach the hub create a workspace, at `/sign-up` or with the API',
  },
  ALLOWED_ORIGINS: {
    schema: list(
      (item) => webOrigin.safeParse(item).success,
      'must be origins such as https://inbox.example.com, separated by commas',
    ),
    default: '',
    description:
      'Origins whose pages may call the hub from a browser for every workspace, in addition to those that each workspace allows; with a session token, never by cookie',
  },
  TRUSTED_PROXIES: {
    schema: list(isAddressBlock, 'must be addresses or CIDR blocks separated by commas'),
    default: '',
    description: 'Proxies whose X-Forwarded-For header is trusted',
  },
  EGRESS_ALLOW_HOSTS: {
    schema: list((item) => /^[A-Za-z0-9.[\]:-]+$/.test(item), 'must be host or host:port, separated by commas'),
    default: '',
    description:
      'Hosts that workflows, webhooks and SIP trunks may reach over http and at private addresses; for development',
  },
  RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 1_000_000),
    default: '600',
    description:
      'Requests per minute and API key or session, including refused ones, and requests with wrong credentials per minute and address',
  },
  HOOK_RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 10_000_000),
    default: '6000',
    description: 'Inbound hook calls per minute and address',
  },
  NODE_RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 10_000_000),
    default: '6000',
    description: 'Requests per minute and device',
  },
  SIGN_IN_RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 1_000_000),
    default: '30',
    description:
      'Sign-ins and sign-ups per minute and address (a /64 of IPv6), and sign-ins to one account from one address in 15 minutes. From all addresses together ten times as many; after that, only addresses from which the user signed in before are accepted',
  },
  ANONYMOUS_VISITORS_PER_ADDRESS_PER_HOUR: {
    schema: wholeNumber(1, 10_000_000),
    default: '120',
    description:
      'Anonymous visitors per hour who can start a chat of one workspace from one address (a /64 of IPv6); further ones are refused with 429',
  },
  ANONYMOUS_VISITORS_PER_WORKSPACE_PER_HOUR: {
    schema: wholeNumber(1, 10_000_000),
    default: '3000',
    description: 'Anonymous visitors per hour who can start a chat of one workspace, from all addresses',
  },
  STREAMS_PER_WORKSPACE: {
    schema: wholeNumber(1, 100_000),
    default: '200',
    description: 'Concurrent live streams and downloads per workspace and process; those of visitors count separately',
  },
  STREAMS_PER_KEY: {
    schema: wholeNumber(1, 100_000),
    default: '',
    description:
      'Concurrent live streams and downloads per API key or user and process; a quarter of `STREAMS_PER_WORKSPACE` when omitted',
  },
  SESSION_HOURS: { schema: wholeNumber(1, 8_760), default: '24', description: 'How long a sign-in lasts' },
  WORKER_CONCURRENCY: {
    schema: wholeNumber(1, 1_000),
    default: '16',
    description: 'Concurrent steps per worker process; steps that wait for an external response do not count',
  },
  WORKER_MAX_RUNS: {
    schema: wholeNumber(1, 10_000),
    default: '256',
    description:
      'Concurrent runs per worker process, including those that wait for an external response; one workspace uses at most as many as remain free',
  },
  QUEUED_RUNS_PER_WORKSPACE: {
    schema: wholeNumber(0, 100_000_000),
    default: '20000',
    description:
      'Queued live runs and queued test runs per workspace, each including those that limits delay; further runs are refused with 429, and schedules skip; 0 for no limit',
  },
  ARTIFACTS_FOLDER: {
    schema: z.string().min(1),
    default: '',
    description: 'Folder of the artifacts, shared by all processes; in the data folder when omitted',
  },
  ARTIFACTS_PER_WORKSPACE_MIB: {
    schema: wholeNumber(1, 1_073_741_824),
    default: '20480',
    description: 'Storage of artifacts per workspace in MiB, and the same amount for chat files',
  },
  NODE_POLL_SECONDS: {
    schema: wholeNumber(1, 30),
    default: '25',
    description: 'Duration of one long poll of a device',
  },
  NODE_HEARTBEAT_SECONDS: {
    schema: wholeNumber(1, 300),
    default: '15',
    description: 'Interval of device heartbeats; after three missed ones the device is offline',
  },
  AI_PROVIDER: {
    schema: z.enum(modelProviders, `must be one of ${modelProviders.join(', ')}`),
    default: '',
    description:
      'Protocol of the model of the whole hub: `openai`, `anthropic` or `openai-compatible`; when omitted, the host of AI_BASE_URL decides (`api.openai.com`, `api.anthropic.com`, any other is `openai-compatible`)',
  },
  AI_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description:
      'URL of the model of the whole hub, without `/chat/completions` (or `/messages` of Anthropic); optional with AI_PROVIDER `openai` or `anthropic`',
  },
  AI_MODEL: { schema: z.string().min(1), default: '', description: 'Name of the model at the endpoint' },
  AI_API_KEY: { schema: modelKey, default: '', description: 'API key of the model', secret: true },
  AI_INPUT_PRICE: {
    schema: decimalPrice,
    default: '',
    description: 'Price of a million input tokens, such as `1.25`; with prices, usage includes the cost of calls',
  },
  AI_OUTPUT_PRICE: { schema: decimalPrice, default: '', description: 'Price of a million output tokens' },
  AI_PRICE_CURRENCY: {
    schema: currency,
    default: 'USD',
    description: 'ISO 4217 currency of the prices',
  },
  EMBEDDINGS_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description:
      'URL of an embedding model with the OpenAI embeddings protocol, with which the AI finds knowledge by meaning and across languages; without it, by words only',
  },
  EMBEDDINGS_MODEL: {
    schema: z.string().min(1),
    default: '',
    description: 'Name of the embedding model at the endpoint',
  },
  EMBEDDINGS_API_KEY: { schema: modelKey, default: '', description: 'API key of the embedding model', secret: true },
  STT_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description:
      'URL of speech-to-text for the whole hub: an endpoint with the OpenAI protocol of `/audio/transcriptions`',
  },
  STT_MODEL: {
    schema: z.string().min(1),
    default: '',
    description: 'Name of the speech-to-text model at the endpoint',
  },
  STT_API_KEY: { schema: modelKey, default: '', description: 'API key of speech-to-text', secret: true },
  SPEECH_DAILY_SECONDS: {
    schema: wholeNumber(0, 1_000_000_000),
    default: '36000',
    description: 'Seconds of audio that a workspace may transcribe per UTC day; its own limit may be lower',
  },
  SPEECH_DAILY_CHARACTERS: {
    schema: wholeNumber(0, 1_000_000_000),
    default: '500000',
    description: 'Characters that a workspace may convert to speech per UTC day; its own limit may be lower',
  },
  TTS_PROVIDER: {
    schema: z.enum(['openai', 'espeak'], 'must be openai or espeak'),
    default: '',
    description:
      'Text-to-speech of the whole hub: `openai` for TTS_BASE_URL (the default when it is set); `espeak` for espeak-ng on this machine, which needs no key',
  },
  TTS_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description: 'URL of text-to-speech: an endpoint with the OpenAI protocol of `/audio/speech`',
  },
  TTS_MODEL: {
    schema: z.string().min(1),
    default: '',
    description: 'Name of the text-to-speech model at the endpoint',
  },
  TTS_API_KEY: { schema: modelKey, default: '', description: 'API key of text-to-speech', secret: true },
  TTS_VOICE: {
    schema: z.string().min(1).max(100),
    default: '',
    description:
      'Voice; `alloy` when omitted. With `espeak` one of `espeak-ng --voices`, such as `en-us`; the voice of the language when omitted',
  },
  SMTP_URL: {
    schema: address(['smtp:', 'smtps:'], 'must be an smtp:// or smtps:// address'),
    default: '',
    description: 'URL of the mail server, with user and password; without it no mail is sent',
    secret: true,
  },
  MAIL_FROM: {
    schema: z.string().regex(/^[^\r\n@]*@[^\r\n]+$/, 'must be a mail address, such as Outrigger <hub@example.com>'),
    default: '',
    description: 'Sender of mails; required with SMTP_URL',
  },
  METRICS_TOKEN: {
    schema: z.string().min(8, 'must have at least 8 characters'),
    default: '',
    description:
      'Bearer token that /metrics requires; when omitted, /metrics answers only requests from the machine of the hub',
    secret: true,
  },
  HUB_ENVIRONMENT: {
    schema: z.enum(['production', 'staging'], 'must be production or staging'),
    default: 'production',
    description: '`staging` changes the default of WEBHOOK_DRAIN_SECONDS to 21,600 (6 hours)',
  },
  WEBHOOK_DRAIN_SECONDS: {
    schema: wholeNumber(1, 86_400),
    default: '',
    description:
      'Interval of the sweep for lost webhook deliveries. All others are sent immediately, and retries when they are due. Default: 900 in production, 21,600 in staging',
  },
  RUN_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description:
      'Minimum retention of finished runs and their data, unless the policy of the workspace sets another; runs are deleted by whole months; 0 keeps them forever',
  },
  LOG_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'Minimum retention of log lines of runs, which are deleted by whole months; 0 keeps them forever',
  },
  MESSAGE_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'Retention of the record of outbound messages; 0 keeps them forever',
  },
  SESSION_MESSAGE_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '365',
    description: 'Retention of messages of automation sessions; 0 keeps them forever',
  },
  COMMAND_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '30',
    description: 'Retention of finished device commands; 0 keeps them forever',
  },
  ARTIFACT_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'Retention of artifacts; 0 keeps them forever',
  },
  AI_RUN_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'Retention of questions to `POST /v1/ai/runs` and their answers; 0 keeps them forever',
  },
  CALL_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '365',
    description: 'Retention of call records; 0 keeps them forever',
  },
  SIP_TRUNK_CONTACT: {
    schema: z
      .string()
      .regex(
        /^sip:([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(;[A-Za-z0-9=.;-]+)?$/,
        'must be a SIP address without a user, such as sip:pbx.example.com:5060;transport=tcp',
      )
      .transform((text) => {
        const [host = '', ...parameters] = text.slice('sip:'.length).split(';');
        return { host, parameters: parameters.map((each) => `;${each}`).join('') };
      }),
    default: '',
    description:
      'SIP server of the operator that receives calls to the trunks of workspaces, such as `sip:pbx.example.com`; without it such calls are answered with 480 and recorded as missed',
  },
  SIP_DOMAIN: {
    schema: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be a domain in lower case, such as sip.example.com'),
    default: '',
    description:
      'Domain of the SIP server of the operator that workspaces can opt into. That server reads their accounts from the view `sip_subscriber`; without this setting there is no hosted SIP',
  },
  SIP_WS_URL: {
    schema: address(['ws:', 'wss:'], 'must be a ws:// or wss:// address'),
    default: '',
    description: 'URL at which that server accepts SIP over WebSocket from the hub; required with SIP_DOMAIN',
  },
  SIP_RPC_URL: {
    schema: address(['http:', 'https:'], 'must be an http:// or https:// address'),
    default: '',
    description:
      'URL at which that server accepts JSON-RPC from the hub, which uses it to end calls; required with SIP_DOMAIN',
  },
  SIP_SHARED_SECRET: {
    schema: z.string().regex(/^[!-~]{32,256}$/, 'must be 32 to 256 characters of printable ASCII without spaces'),
    default: '',
    description:
      'Secret by which that server authenticates the hub, which vouches for its users; required with SIP_DOMAIN',
    secret: true,
  },
  SIP_EMERGENCY: {
    schema: z.enum(['refuse', 'route'], 'must be refuse or route'),
    default: 'refuse',
    description:
      'Handling of softphone calls to 112, 911, 999, 110 and +1911: `refuse` answers with 403; `route` lets the SIP server route them regardless of SIP_DIAL_ALLOW. `route` helps only when that server can call numbers (the one of `deploy/kamailio` cannot)',
  },
  SIP_DIAL_ALLOW: {
    schema: list((item) => /^\+?[0-9*#]{1,15}$/.test(item), 'must be prefixes of numbers, such as +49,+1'),
    default: '',
    description:
      'Prefixes of the numbers that softphones may call, such as `+49,+1`, separated by commas; without it members of a workspace can call only each other',
  },
  SIP_CALLS_AT_ONCE: {
    schema: wholeNumber(1, 10_000),
    default: '10',
    description: 'Concurrent calls of the softphones of a workspace with numbers',
  },
  SIP_MINUTES_A_DAY: {
    schema: wholeNumber(1, 1_000_000),
    default: '600',
    description: 'Minutes per UTC day after which softphones of a workspace can start no more calls to numbers',
  },
  AUDIT_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '365',
    description: 'Retention of the audit log; 0 keeps it forever',
  },
  SHUTDOWN_SECONDS: {
    schema: wholeNumber(1, 600),
    default: '20',
    description: 'How long a shutdown waits for active requests and steps',
  },
  LOG_LEVEL: {
    schema: z.enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    ),
    default: 'info',
    description: 'Lowest level that is logged',
  },
  LOG_FORMAT: {
    schema: z.enum(['auto', 'pretty', 'json'], 'must be auto, pretty or json'),
    default: 'auto',
    description: '`auto` is pretty on a terminal, JSON elsewhere',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: address(['http:', 'https:'], 'must be an http or https address'),
    default: '',
    description:
      'URL of an OpenTelemetry collector that receives traces of runs as OTLP/JSON over HTTP at `/v1/traces` below it; tracing is off when omitted',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: pairs,
    default: '',
    description: 'Headers for the collector: `name=value` pairs separated by commas, values percent-encoded',
    secret: true,
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    schema: wholeNumber(100, 60_000),
    default: '10000',
    description: 'Timeout of sending a batch of spans, in milliseconds; runs do not wait for it',
  },
  OTEL_SERVICE_NAME: {
    schema: z.string().min(1).max(200),
    default: 'outrigger',
    description: 'Name of this hub in traces',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    schema: pairs,
    default: '',
    description:
      'Further attributes of this process in traces: `name=value` pairs separated by commas, values percent-encoded',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a share from 0 to 1')
      .transform(Number),
    default: '1',
    description: 'Fraction of the traces started by this hub that are recorded; for other traces the caller decides',
  },
  NODE_ENV: {
    schema: z.string(),
    default: 'production',
    description: '`development` and `test` also validate responses against the API contract',
  },
} satisfies Record<string, Setting>;

type SettingName = keyof typeof settings;
type Values = { [Name in SettingName]: z.output<(typeof settings)[Name]['schema']> | undefined };

export type HubRole = 'api' | 'worker' | 'all';

/** Parsed settings of the hub. Each part gets the section that it needs. */
export interface Config {
  role: HubRole;
  home: string;
  artifacts: { folder: string | null; maxWorkspaceBytes: number };
  http: {
    host: string;
    port: number;
    publicUrl: string | null;
    trustedProxies: string[];
    validateResponses: boolean;
    metricsToken: string | null;
    shutdownMs: number;
  };
  limits: {
    perKey: number;
    hook: number;
    device: number;
    signIn: number;
    anonymousVisitors: { perAddress: number; perWorkspace: number };
  };
  streams: { perWorkspace: number; perKey: number };
  database: { url: string | null; maxConnections: number };
  redisUrl: string | null;
  secrets: { key: Buffer | null; platformAdminKey: string | null };
  identity: {
    signUp: 'closed' | 'open';
    sessionHours: number;
    allowedOrigins: readonly string[];
    defaultEntitlements: readonly Entitlement[];
  };
  egress: { allowHosts: string[] };
  worker: { concurrency: number; maxRuns: number };
  runs: { maxQueuedPerWorkspace: number };
  nodes: { pollSeconds: number; heartbeatSeconds: number };
  webhooks: { drainSeconds: number };
  sip: {
    trunkContact: { host: string; parameters: string } | null;
    server: { domain: string; wsUrl: string; rpcUrl: string; sharedSecret: string } | null;
    dial: {
      emergency: 'refuse' | 'route';
      allow: readonly string[];
      maxConcurrentCalls: number;
      maxMinutesPerDay: number;
    };
  };
  /** In days; 0 keeps rows forever. */
  retention: {
    runs: number;
    logs: number;
    messages: number;
    sessionMessages: number;
    commands: number;
    artifacts: number;
    aiRuns: number;
    calls: number;
    audit: number;
  };
  ai: {
    provider: ModelProvider;
    baseUrl: string;
    model: string;
    apiKey: string | null;
    prices: ModelPrices | null;
  } | null;
  embeddings: { baseUrl: string; model: string; apiKey: string | null } | null;
  speech: {
    speechToText: { baseUrl: string; model: string; apiKey: string | null } | null;
    textToSpeech:
      | { provider: 'openai'; baseUrl: string; model: string; apiKey: string | null; voice: string }
      | { provider: 'espeak'; voice: string | null }
      | null;
    limits: { dailySeconds: number; dailyCharacters: number };
  };
  mail: { url: string; from: string } | null;
  log: { level: string; format: 'pretty' | 'json'; color: boolean };
  tracing: {
    endpoint: string;
    headers: Record<string, string>;
    timeoutMs: number;
    serviceName: string;
    resource: Record<string, string>;
    ratio: number;
  } | null;
}

/** Invalid settings, with one line per problem. */
export class ConfigError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

function readSetting(name: SettingName, { env, readFile }: SettingSources, problems: string[]): unknown {
  const setting: Setting = settings[name];
  const fileName = `${name}_FILE`;
  let text = env[name];
  const path = env[fileName];
  if (setting.secret === true && path !== undefined && path !== '') {
    if (text !== undefined && text !== '') problems.push(`${name} and ${fileName} are both set; keep one of them`);
    try {
      text = readFile(path).trim();
    } catch (error) {
      problems.push(
        `${fileName} names a file that can't be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
      );
      return undefined;
    }
  }
  if (text === undefined || text === '') {
    if (setting.default === '') return undefined;
    text = setting.default;
  }
  const parsed = setting.schema.safeParse(text);
  if (parsed.success) return parsed.data;
  const quoted = setting.secret === true ? '' : ` (it is "${text.slice(0, 100)}")`;
  problems.push(`${name} ${parsed.error.issues[0]?.message ?? 'is not valid'}${quoted}`);
  return undefined;
}

/** Default interval of the sweep for lost deliveries, in seconds. */
const drainSeconds = { production: 15 * 60, staging: 6 * 3600 };

/**
 * Parses the environment to a `Config`. It has no side effects except `readFile`.
 * @throws ConfigError that lists every invalid setting.
 */
export function parseConfig(sources: SettingSources, options: { role: HubRole; isTerminal: boolean }): Config {
  const problems: string[] = [];
  const values = Object.fromEntries(
    (Object.keys(settings) as SettingName[]).map((name) => [name, readSetting(name, sources, problems)]),
  ) as Values;
  problems.push(...findDependencyProblems(sources, values));
  if (problems.length > 0) throw new ConfigError(problems);
  const required = <Name extends SettingName>(name: Name) =>
    values[name] as z.output<(typeof settings)[Name]['schema']>;
  const noColor = sources.env['NO_COLOR'];
  const entitlements = required('DEFAULT_ENTITLEMENTS');
  const logFormat = required('LOG_FORMAT');
  return {
    role: options.role,
    home: required('OUTRIGGER_HOME'),
    artifacts: {
      folder: values.ARTIFACTS_FOLDER ?? null,
      maxWorkspaceBytes: (values.ARTIFACTS_PER_WORKSPACE_MIB ?? 20_480) * 1024 * 1024,
    },
    http: {
      host: required('HOST'),
      port: required('PORT'),
      publicUrl: values.PUBLIC_URL?.replace(/(?<!\/)\/+$/, '') ?? null,
      trustedProxies: values.TRUSTED_PROXIES ?? [],
      validateResponses: ['development', 'test'].includes(required('NODE_ENV')),
      metricsToken: values.METRICS_TOKEN ?? null,
      shutdownMs: required('SHUTDOWN_SECONDS') * 1000,
    },
    limits: {
      perKey: required('RATE_LIMIT_PER_MINUTE'),
      hook: required('HOOK_RATE_LIMIT_PER_MINUTE'),
      device: required('NODE_RATE_LIMIT_PER_MINUTE'),
      signIn: required('SIGN_IN_RATE_LIMIT_PER_MINUTE'),
      anonymousVisitors: {
        perAddress: required('ANONYMOUS_VISITORS_PER_ADDRESS_PER_HOUR'),
        perWorkspace: required('ANONYMOUS_VISITORS_PER_WORKSPACE_PER_HOUR'),
      },
    },
    streams: {
      perWorkspace: required('STREAMS_PER_WORKSPACE'),
      perKey: values.STREAMS_PER_KEY ?? Math.ceil(required('STREAMS_PER_WORKSPACE') / 4),
    },
    database: { url: values.DATABASE_URL ?? null, maxConnections: required('DATABASE_POOL_SIZE') },
    redisUrl: values.REDIS_URL ?? null,
    secrets: {
      key: values.SECRET_KEY === undefined ? null : Buffer.from(values.SECRET_KEY, 'hex'),
      platformAdminKey: values.PLATFORM_ADMIN_KEY ?? null,
    },
    identity: {
      signUp: required('SIGN_UP'),
      sessionHours: required('SESSION_HOURS'),
      allowedOrigins: values.ALLOWED_ORIGINS ?? [],
      defaultEntitlements: entitlements.includes('all') ? entitlementNames : (entitlements as Entitlement[]),
    },
    egress: { allowHosts: values.EGRESS_ALLOW_HOSTS ?? [] },
    worker: { concurrency: required('WORKER_CONCURRENCY'), maxRuns: required('WORKER_MAX_RUNS') },
    runs: { maxQueuedPerWorkspace: required('QUEUED_RUNS_PER_WORKSPACE') },
    webhooks: { drainSeconds: values.WEBHOOK_DRAIN_SECONDS ?? drainSeconds[required('HUB_ENVIRONMENT')] },
    sip: {
      trunkContact: values.SIP_TRUNK_CONTACT ?? null,
      server:
        values.SIP_DOMAIN === undefined
          ? null
          : {
              domain: values.SIP_DOMAIN,
              wsUrl: required('SIP_WS_URL'),
              rpcUrl: required('SIP_RPC_URL'),
              sharedSecret: required('SIP_SHARED_SECRET'),
            },
      dial: {
        emergency: required('SIP_EMERGENCY'),
        allow: values.SIP_DIAL_ALLOW ?? [],
        maxConcurrentCalls: required('SIP_CALLS_AT_ONCE'),
        maxMinutesPerDay: required('SIP_MINUTES_A_DAY'),
      },
    },
    nodes: { pollSeconds: required('NODE_POLL_SECONDS'), heartbeatSeconds: required('NODE_HEARTBEAT_SECONDS') },
    retention: {
      runs: required('RUN_RETENTION_DAYS'),
      logs: required('LOG_RETENTION_DAYS'),
      messages: required('MESSAGE_RETENTION_DAYS'),
      sessionMessages: required('SESSION_MESSAGE_RETENTION_DAYS'),
      commands: required('COMMAND_RETENTION_DAYS'),
      artifacts: required('ARTIFACT_RETENTION_DAYS'),
      aiRuns: required('AI_RUN_RETENTION_DAYS'),
      calls: required('CALL_RETENTION_DAYS'),
      audit: required('AUDIT_RETENTION_DAYS'),
    },
    ai: modelOf(values),
    embeddings: bindingOf(values.EMBEDDINGS_BASE_URL, values.EMBEDDINGS_MODEL, values.EMBEDDINGS_API_KEY),
    speech: {
      speechToText: bindingOf(values.STT_BASE_URL, values.STT_MODEL, values.STT_API_KEY),
      textToSpeech: textToSpeechOf(values),
      limits: {
        dailySeconds: required('SPEECH_DAILY_SECONDS'),
        dailyCharacters: required('SPEECH_DAILY_CHARACTERS'),
      },
    },
    mail:
      values.SMTP_URL === undefined || values.MAIL_FROM === undefined
        ? null
        : { url: values.SMTP_URL, from: values.MAIL_FROM },
    log: {
      level: required('LOG_LEVEL'),
      format: logFormat === 'auto' ? (options.isTerminal ? 'pretty' : 'json') : logFormat,
      color: options.isTerminal && (noColor === undefined || noColor === ''),
    },
    tracing:
      values.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? null
        : {
            endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
            headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? {},
            timeoutMs: required('OTEL_EXPORTER_OTLP_TIMEOUT'),
            serviceName: required('OTEL_SERVICE_NAME'),
            resource: values.OTEL_RESOURCE_ATTRIBUTES ?? {},
            ratio: required('OTEL_TRACES_SAMPLER_ARG'),
          },
  };
}

/**
 * Finds settings that require or exclude another one. An invalid setting counts as set, because its own problem is
 * reported.
 */
function findDependencyProblems({ env }: SettingSources, { TTS_PROVIDER: provider, AI_PROVIDER }: Values): string[] {
  const isSet = (name: SettingName) =>
    (env[name] ?? '') !== '' || ((settings[name] as Setting).secret === true && (env[`${name}_FILE`] ?? '') !== '');
  const problems: string[] = [];
  const requireBoth = (one: SettingName, other: SettingName, dependents: SettingName[] = []) => {
    if (isSet(one) !== isSet(other))
      problems.push(`${isSet(one) ? other : one} is required when ${isSet(one) ? one : other} is set`);
    else if (!isSet(one))
      problems.push(...dependents.filter(isSet).map((name) => `${name} has no effect without ${one} and ${other}`));
  };
  const modelOptions: SettingName[] = ['AI_API_KEY', 'AI_INPUT_PRICE', 'AI_OUTPUT_PRICE'];
  if (AI_PROVIDER !== undefined && AI_PROVIDER !== 'openai-compatible') {
    if (!isSet('AI_MODEL')) problems.push(`AI_MODEL is required with AI_PROVIDER=${AI_PROVIDER}`);
  } else requireBoth('AI_BASE_URL', 'AI_MODEL', [...modelOptions, 'AI_PROVIDER']);
  requireBoth('AI_INPUT_PRICE', 'AI_OUTPUT_PRICE');
  requireBoth('EMBEDDINGS_BASE_URL', 'EMBEDDINGS_MODEL', ['EMBEDDINGS_API_KEY']);
  requireBoth('STT_BASE_URL', 'STT_MODEL', ['STT_API_KEY']);
  requireBoth('SMTP_URL', 'MAIL_FROM');
  for (const name of ['SIP_WS_URL', 'SIP_RPC_URL', 'SIP_SHARED_SECRET'] as const) requireBoth('SIP_DOMAIN', name);
  const softphoneOptions: SettingName[] = ['SIP_EMERGENCY', 'SIP_DIAL_ALLOW'];
  if (!isSet('SIP_DOMAIN'))
    problems.push(...softphoneOptions.filter(isSet).map((name) => `${name} has no effect without SIP_DOMAIN`));
  const endpointOptions: SettingName[] = ['TTS_BASE_URL', 'TTS_MODEL', 'TTS_API_KEY'];
  if (provider === 'espeak')
    problems.push(...endpointOptions.filter(isSet).map((name) => `${name} has no effect with TTS_PROVIDER=espeak`));
  else if (provider === 'openai' && !isSet('TTS_BASE_URL') && !isSet('TTS_MODEL'))
    problems.push('TTS_BASE_URL and TTS_MODEL are required with TTS_PROVIDER=openai');
  else if (provider !== undefined || !isSet('TTS_PROVIDER'))
    requireBoth('TTS_BASE_URL', 'TTS_MODEL', ['TTS_API_KEY', 'TTS_VOICE']);
  return problems;
}

/** The model of the hub; null when its URL or name is not set. */
function modelOf(values: Values): Config['ai'] {
  const { AI_PROVIDER, AI_MODEL, AI_API_KEY, AI_INPUT_PRICE, AI_OUTPUT_PRICE, AI_PRICE_CURRENCY } = values;
  const baseUrl = values.AI_BASE_URL ?? defaultBaseUrls[AI_PROVIDER ?? 'openai-compatible'] ?? undefined;
  const binding = bindingOf(baseUrl, AI_MODEL, AI_API_KEY);
  if (binding === null) return null;
  const hasPrices = AI_INPUT_PRICE !== undefined && AI_OUTPUT_PRICE !== undefined && AI_PRICE_CURRENCY !== undefined;
  return {
    provider: AI_PROVIDER ?? providerAt(binding.baseUrl),
    ...binding,
    prices: hasPrices
      ? { inputMicros: AI_INPUT_PRICE, outputMicros: AI_OUTPUT_PRICE, currency: AI_PRICE_CURRENCY }
      : null,
  };
}

const defaultBaseUrls: Readonly<Record<ModelProvider, string | null>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  'openai-compatible': null,
};

/**
 * The provider whose protocol and parameters an endpoint accepts. OpenAI also has regional hosts, such as
 * eu.api.openai.com.
 */
function providerAt(baseUrl: string): ModelProvider {
  const { hostname } = new URL(baseUrl);
  if (/(?:^|\.)api\.openai\.com$/.test(hostname)) return 'openai';
  return hostname === 'api.anthropic.com' ? 'anthropic' : 'openai-compatible';
}

function bindingOf(baseUrl: string | undefined, model: string | undefined, apiKey: string | undefined) {
  return baseUrl === undefined || model === undefined
    ? null
    : { baseUrl: baseUrl.replace(/(?<!\/)\/+$/, ''), model, apiKey: apiKey ?? null };
}

function textToSpeechOf(values: Values): Config['speech']['textToSpeech'] {
  if (values.TTS_PROVIDER === 'espeak') return { provider: 'espeak', voice: values.TTS_VOICE ?? null };
  const binding = bindingOf(values.TTS_BASE_URL, values.TTS_MODEL, values.TTS_API_KEY);
  return binding === null ? null : { provider: 'openai', ...binding, voice: values.TTS_VOICE ?? 'alloy' };
}

/** Renders the settings as a Markdown table for docs/reference/settings.md. */
export function settingsTable(): string {
  const rows = Object.entries(settings as Record<string, Setting>).map(
    ([name, { default: value, description, secret }]) => {
      const source = secret === true ? ` (or \`${name}_FILE\`)` : '';
      return `| \`${name}\`${source} | ${value === '' ? '' : `\`${value}\``} | ${description} |`;
    },
  );
  return ['| setting | default | what it does |', '|---|---|---|', ...rows].join('\n');
}
