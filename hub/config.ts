import { z } from 'zod';
import { apiKeyPattern, modelProviders } from '../shared/contract/ai/models.ts';
import type { ModelProvider } from '../shared/contract/ai/models.ts';
import { currency } from '../shared/contract/ai/prices.ts';
import type { ModelPrices } from '../shared/contract/ai/prices.ts';
import { webOrigin } from '../shared/contract/core/allowed-origins.ts';
import { entitlementNames } from '../shared/contract/define.ts';
import type { Entitlement } from '../shared/contract/define.ts';
import { isAddressBlock } from './platform/address-block.ts';

/** Where a setting's text comes from: the environment, and a file for `NAME_FILE`. */
export interface SettingSources {
  env: Record<string, string | undefined>;
  readFile: (path: string) => string;
}

interface Setting {
  schema: z.ZodType;
  /** As a person would write it; empty when there is none. */
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

/** An amount of money as people write it, in millionths: no number in between has less than all of it. */
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

/** `name=value` joined by commas, with percent-encoded values: how OpenTelemetry's settings write several things. */
const pairs = z.string().transform((text, context) => {
  const found: Record<string, string> = {};
  for (const item of text.split(',').filter((part) => part.trim() !== '')) {
    const [, name, value] = /^([\w.-]+)\s*=([^]*)$/.exec(item.trim()) ?? [];
    if (name === undefined || value === undefined || !isPercentEncoded(value)) {
      context.addIssue({ code: 'custom', message: 'must be name=value, joined by commas, values percent-encoded' });
      return z.NEVER;
    }
    found[name] = decodeURIComponent(value.trim());
  }
  return found;
});

const isPercentEncoded = (text: string) => !/%(?![0-9a-fA-F]{2})/.test(text);

/**
 * Every setting, once: validation, defaults, and the table in docs/settings.md come from here.
 */
const settings = {
  PORT: { schema: wholeNumber(0, 65_535), default: '4400', description: 'Port of the hub; 0 takes any free one' },
  HOST: {
    schema: z.string().min(1),
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` lets other machines in',
  },
  PUBLIC_URL: {
    // Cookies and pages belong to a whole host.
    schema: address(['http:', 'https:'], 'must be an http or https address').refine((text) => {
      const url = URL.parse(text);
      return url === null || (/^\/*$/.test(url.pathname) && url.search === '' && url.hash === '');
    }, 'must have no path: give the hub a host name or a port of its own'),
    default: '',
    description: 'Where people and devices reach the hub, when that differs from HOST and PORT',
  },
  OUTRIGGER_HOME: {
    schema: z.string().min(1),
    default: '.outrigger',
    description: 'Data folder: embedded database, artefacts, secret key',
  },
  DATABASE_URL: {
    schema: address(['postgres:', 'postgresql:'], 'must be a postgres:// address'),
    default: '',
    description: 'PostgreSQL 14 or newer, instead of the embedded one',
    secret: true,
  },
  DATABASE_POOL_SIZE: {
    schema: wholeNumber(2, 500),
    default: '20',
    description: 'Connections to the database that a process keeps; one workspace never has all of them',
  },
  REDIS_URL: {
    schema: address(['redis:', 'rediss:'], 'must be a redis:// or rediss:// address'),
    default: '',
    description: 'Redis or Valkey for queue, events and rate limits, instead of PostgreSQL',
    secret: true,
  },
  SECRET_KEY: {
    schema: z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits; make one with: openssl rand -hex 32'),
    default: '',
    description: 'Key that seals secrets at rest; made in the data folder when left out, the same for all processes',
    secret: true,
  },
  PLATFORM_ADMIN_KEY: {
    schema: z.string().min(24, 'must have at least 24 characters'),
    default: '',
    description: 'Key of the operator, for entitlements and for packs of all workspaces; off when left out',
    secret: true,
  },
  DEFAULT_ENTITLEMENTS: {
    schema: list(
      (item) => item === 'all' || (entitlementNames as readonly string[]).includes(item),
      `must be all, or a list of ${entitlementNames.join(', ')}`,
    ),
    default: 'all',
    description: 'What a new workspace is entitled to: `all`, or names joined by commas',
  },
  SIGN_UP: {
    schema: z.enum(['closed', 'open'], 'must be closed or open'),
    default: 'closed',
    description: '`open` lets anybody who reaches the hub make a workspace',
  },
  ALLOWED_ORIGINS: {
    schema: list(
      (item) => webOrigin.safeParse(item).success,
      'must be origins such as https://inbox.example.com, joined by commas',
    ),
    default: '',
    description:
      'Origins whose pages may call the hub from a browser for every workspace, beside those that each workspace allows; with a session token, never by cookie',
  },
  TRUSTED_PROXIES: {
    schema: list(isAddressBlock, 'must be addresses or CIDR blocks joined by commas'),
    default: '',
    description: 'Proxies whose X-Forwarded-For is believed',
  },
  EGRESS_ALLOW_HOSTS: {
    schema: list((item) => /^[A-Za-z0-9.[\]:-]+$/.test(item), 'must be host or host:port, joined by commas'),
    default: '',
    description:
      'Hosts that workflows and webhooks may call over http and at private addresses, and SIP trunks that may be there; for development',
  },
  RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 1_000_000),
    default: '600',
    description:
      'Requests a minute for each API key or session, refused ones included, and calls with wrong credentials a minute from one address',
  },
  HOOK_RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 10_000_000),
    default: '6000',
    description: 'Inbound hook calls a minute from one address',
  },
  NODE_RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 10_000_000),
    default: '6000',
    description: 'Requests a minute of each device',
  },
  SIGN_IN_RATE_LIMIT_PER_MINUTE: {
    schema: wholeNumber(1, 1_000_000),
    default: '30',
    description:
      'Sign-ins and sign-ups a minute from one address (a /64 of IPv6), and sign-ins to one account from one address in 15 minutes (from all together ten times as many; then only addresses go on from which its owner signed in before)',
  },
  ANONYMOUS_VISITORS_PER_ADDRESS_PER_HOUR: {
    schema: wholeNumber(1, 10_000_000),
    default: '120',
    description:
      'Anonymous visitors an hour who can start a chat of one workspace from one address (a /64 of IPv6); further ones are refused with 429',
  },
  ANONYMOUS_VISITORS_PER_WORKSPACE_PER_HOUR: {
    schema: wholeNumber(1, 10_000_000),
    default: '3000',
    description: 'Anonymous visitors an hour who can start a chat of one workspace, from all addresses',
  },
  STREAMS_PER_WORKSPACE: {
    schema: wholeNumber(1, 100_000),
    default: '200',
    description:
      'Live streams and downloads of one workspace that a process holds open at once; streams and downloads of its visitors count apart',
  },
  STREAMS_PER_KEY: {
    schema: wholeNumber(1, 100_000),
    default: '100',
    description: 'The same for each API key or session',
  },
  SESSION_HOURS: { schema: wholeNumber(1, 8_760), default: '24', description: 'How long a sign-in lasts' },
  WORKER_CONCURRENCY: {
    schema: wholeNumber(1, 1_000),
    default: '16',
    description:
      'Steps that one worker process works on at a time; those that wait for an answer from outside do not count',
  },
  WORKER_MAX_RUNS: {
    schema: wholeNumber(1, 10_000),
    default: '256',
    description:
      'Runs that one worker process has in hand at a time, with those that wait for an answer from outside; one workspace at most as many as it leaves free',
  },
  QUEUED_RUNS_PER_WORKSPACE: {
    schema: wholeNumber(0, 100_000_000),
    default: '20000',
    description:
      'Runs of one workspace that may wait to begin, with those that limits hold back; what is more is refused with 429, and fires of schedules are skipped; 0 for any number',
  },
  ARTIFACTS_FOLDER: {
    schema: z.string().min(1),
    default: '',
    description: 'Folder of the artefacts, shared by all processes; in the data folder when left out',
  },
  ARTIFACTS_PER_WORKSPACE_MIB: {
    schema: wholeNumber(1, 1_073_741_824),
    default: '20480',
    description: 'Artefacts that a workspace may keep, in MiB; and as much of files in its chats',
  },
  NODE_POLL_SECONDS: { schema: wholeNumber(1, 30), default: '25', description: 'How long a device holds a poll open' },
  NODE_HEARTBEAT_SECONDS: {
    schema: wholeNumber(1, 300),
    default: '15',
    description: 'How often a device reports; after three missed ones it is offline',
  },
  AI_PROVIDER: {
    schema: z.enum(modelProviders, `must be one of ${modelProviders.join(', ')}`),
    default: '',
    description:
      'Whose protocol and parameters the model of the whole hub takes: `openai`, `anthropic` or `openai-compatible`; when left out, the host of AI_BASE_URL decides (`api.openai.com`, `api.anthropic.com`, any other is `openai-compatible`)',
  },
  AI_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description:
      'Model of the whole hub: its address before `/chat/completions`, or before `/messages` of Anthropic; with AI_PROVIDER `openai` or `anthropic` it may be left out',
  },
  AI_MODEL: { schema: z.string().min(1), default: '', description: 'Its name, as the endpoint knows it' },
  AI_API_KEY: { schema: modelKey, default: '', description: 'Its key', secret: true },
  AI_INPUT_PRICE: {
    schema: decimalPrice,
    default: '',
    description: 'What a million tokens to it cost, such as `1.25`; its calls are counted with their cost then',
  },
  AI_OUTPUT_PRICE: { schema: decimalPrice, default: '', description: 'What a million tokens from it cost' },
  AI_PRICE_CURRENCY: {
    schema: currency,
    default: 'USD',
    description: 'The currency of these prices, by ISO 4217',
  },
  EMBEDDINGS_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description:
      'Model for embeddings, by which the AI finds knowledge across words and languages: any endpoint that speaks the OpenAI embeddings protocol; without it knowledge is found by its words',
  },
  EMBEDDINGS_MODEL: { schema: z.string().min(1), default: '', description: 'Its name, as the endpoint knows it' },
  EMBEDDINGS_API_KEY: { schema: modelKey, default: '', description: 'Its key', secret: true },
  STT_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description:
      'Speech-to-text of the whole hub: any endpoint that speaks the OpenAI protocol of `/audio/transcriptions`',
  },
  STT_MODEL: { schema: z.string().min(1), default: '', description: 'Its name, as the endpoint knows it' },
  STT_API_KEY: { schema: modelKey, default: '', description: 'Its key', secret: true },
  SPEECH_DAILY_SECONDS: {
    schema: wholeNumber(0, 1_000_000_000),
    default: '36000',
    description: 'Seconds of sound that a workspace may have transcribed in a day, UTC; its own limit may be lower',
  },
  SPEECH_DAILY_CHARACTERS: {
    schema: wholeNumber(0, 1_000_000_000),
    default: '500000',
    description: 'Characters that a workspace may have spoken in a day, UTC; its own limit may be lower',
  },
  TTS_PROVIDER: {
    schema: z.enum(['openai', 'espeak'], 'must be openai or espeak'),
    default: '',
    description:
      'Text-to-speech of the whole hub: `openai` for TTS_BASE_URL, which alone says so too; `espeak` for espeak-ng on this machine, which needs no key',
  },
  TTS_BASE_URL: {
    schema: address(['http:', 'https:'], 'must be an http or https address, such as https://api.example.com/v1'),
    default: '',
    description: 'Any endpoint that speaks the OpenAI protocol of `/audio/speech`',
  },
  TTS_MODEL: { schema: z.string().min(1), default: '', description: 'Its name, as the endpoint knows it' },
  TTS_API_KEY: { schema: modelKey, default: '', description: 'Its key', secret: true },
  TTS_VOICE: {
    schema: z.string().min(1).max(100),
    default: '',
    description:
      'Voice; `alloy` when left out, and with `espeak` that of the language: one of `espeak-ng --voices`, such as `en-us`',
  },
  SMTP_URL: {
    schema: address(['smtp:', 'smtps:'], 'must be an smtp:// or smtps:// address'),
    default: '',
    description: 'Mail server, with user and password; without it no mail is sent',
    secret: true,
  },
  MAIL_FROM: {
    schema: z.string().regex(/^[^\r\n@]*@[^\r\n]+$/, 'must be a mail address, such as Outrigger <hub@example.com>'),
    default: '',
    description: 'Sender of the mails; needed with SMTP_URL',
  },
  METRICS_TOKEN: {
    schema: z.string().min(8, 'must have at least 8 characters'),
    default: '',
    description: 'Bearer token that /metrics asks for; when left out it answers the machine of the hub alone',
    secret: true,
  },
  HUB_ENVIRONMENT: {
    schema: z.enum(['production', 'staging'], 'must be production or staging'),
    default: 'production',
    description: '`staging` sets WEBHOOK_DRAIN_SECONDS to 21,600 (6 hours) where it is left out',
  },
  WEBHOOK_DRAIN_SECONDS: {
    schema: wholeNumber(1, 86_400),
    default: '',
    description:
      'Interval of the sweep for lost deliveries to webhooks; others go at once, and retries when they are due. When left out: 900 in production, 21,600 in staging',
  },
  RUN_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description:
      'How long ended runs are kept at least, with all that belongs to them, where the policy of their workspace says nothing else: they go with their month; 0 for ever',
  },
  LOG_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'How long log lines of runs are kept at least: they go with their month; 0 for ever',
  },
  MESSAGE_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'How long it is kept what left the platform; 0 for ever',
  },
  SESSION_MESSAGE_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '365',
    description: 'How long messages of automation sessions are kept; 0 for ever',
  },
  COMMAND_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '30',
    description: 'How long ended commands to devices are kept; 0 for ever',
  },
  ARTIFACT_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'How long artefacts are kept; 0 for ever',
  },
  AI_RUN_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '90',
    description: 'How long questions to `POST /v1/ai/runs` are kept, with their answers; 0 for ever',
  },
  CALL_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '365',
    description: 'How long records of calls are kept; 0 for ever',
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
      'SIP server of the operator that calls to own trunks go to, such as `sip:pbx.example.com`; without it they are answered 480 and recorded as missed',
  },
  SIP_DOMAIN: {
    schema: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be a domain in lower case, such as sip.example.com'),
    default: '',
    description:
      'Domain of the SIP server of the operator that workspaces can opt into; it reads their accounts from the view `sip_subscriber`, and without it there is no hosted SIP',
  },
  SIP_WS_URL: {
    schema: address(['ws:', 'wss:'], 'must be a ws:// or wss:// address'),
    default: '',
    description: 'Where that server takes SIP over WebSocket from the hub; needed with SIP_DOMAIN',
  },
  SIP_RPC_URL: {
    schema: address(['http:', 'https:'], 'must be an http:// or https:// address'),
    default: '',
    description: 'Where that server takes JSON-RPC from the hub, by which calls are ended; needed with SIP_DOMAIN',
  },
  SIP_SHARED_SECRET: {
    schema: z.string().regex(/^[!-~]{32,256}$/, 'must be 32 to 256 characters of printable ASCII without spaces'),
    default: '',
    description: 'By which that server knows the hub, which says to it who somebody is; needed with SIP_DOMAIN',
    secret: true,
  },
  SIP_EMERGENCY: {
    schema: z.enum(['refuse', 'route'], 'must be refuse or route'),
    default: 'refuse',
    description:
      'What calls of softphones to 112, 911, 999, 110 and +1911 do: `refuse` answers them 403, `route` has the SIP server route them, whatever SIP_DIAL_ALLOW says, which helps only where that server has a way to numbers (the one of `deploy/kamailio` has none)',
  },
  SIP_DIAL_ALLOW: {
    schema: list((item) => /^\+?[0-9*#]{1,15}$/.test(item), 'must be prefixes of numbers, such as +49,+1'),
    default: '',
    description:
      'With what the numbers begin that softphones may call, such as `+49,+1`, joined by commas; without it people of a workspace can call each other alone',
  },
  SIP_CALLS_AT_ONCE: {
    schema: wholeNumber(1, 10_000),
    default: '10',
    description: 'Calls that softphones of a workspace may have with numbers at once',
  },
  SIP_MINUTES_A_DAY: {
    schema: wholeNumber(1, 1_000_000),
    default: '600',
    description: 'Minutes a day, in UTC, after which softphones of a workspace begin no more calls to numbers',
  },
  AUDIT_RETENTION_DAYS: {
    schema: wholeNumber(0, 36_500),
    default: '365',
    description: 'How long it is kept who changed what; 0 for ever',
  },
  SHUTDOWN_SECONDS: {
    schema: wholeNumber(1, 600),
    default: '20',
    description: 'How long a stop waits for requests and steps under way',
  },
  LOG_LEVEL: {
    schema: z.enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    ),
    default: 'info',
    description: 'Least level that is logged',
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
      'OpenTelemetry collector that gets traces of runs, by OTLP over HTTP as JSON at `/v1/traces` below it; nothing is traced when left out',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: pairs,
    default: '',
    description: 'Headers for the collector: `name=value`, joined by commas, values percent-encoded',
    secret: true,
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    schema: wholeNumber(100, 60_000),
    default: '10000',
    description: 'Milliseconds that sending a batch of spans may take; nothing waits for it',
  },
  OTEL_SERVICE_NAME: {
    schema: z.string().min(1).max(200),
    default: 'outrigger',
    description: 'Name of this hub in traces',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    schema: pairs,
    default: '',
    description: 'What traces say of this process besides: `name=value`, joined by commas, values percent-encoded',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a share from 0 to 1')
      .transform(Number),
    default: '1',
    description: 'Share of traces that are recorded, of those that begin here; others are as their caller says',
  },
  NODE_ENV: {
    schema: z.string(),
    default: 'production',
    description: '`development` and `test` check answers against the contract too',
  },
} satisfies Record<string, Setting>;

type SettingName = keyof typeof settings;
type Values = { [Name in SettingName]: z.output<(typeof settings)[Name]['schema']> | undefined };

export type HubRole = 'api' | 'worker' | 'all';

/** Settings of the hub, parsed once; each part gets its slice. */
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
  /** In days; 0 keeps for ever. */
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

/** Settings that can't be used, all of them, a line each. */
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
  const shown = setting.secret === true ? '' : ` (it is "${text.slice(0, 100)}")`;
  problems.push(`${name} ${parsed.error.issues[0]?.message ?? 'is not valid'}${shown}`);
  return undefined;
}

/** The interval of the sweep for lost deliveries, as the specification sets it. */
const drainSeconds = { production: 15 * 60, staging: 6 * 3600 };

/**
 * Turns the environment into a `Config`. Pure but for `readFile`.
 * @throws ConfigError that names every setting that can't be used.
 */
export function parseConfig(sources: SettingSources, options: { role: HubRole; isTerminal: boolean }): Config {
  const problems: string[] = [];
  const values = Object.fromEntries(
    (Object.keys(settings) as SettingName[]).map((name) => [name, readSetting(name, sources, problems)]),
  ) as Values;
  problems.push(...problemsTogether(sources, values));
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
    streams: { perWorkspace: required('STREAMS_PER_WORKSPACE'), perKey: required('STREAMS_PER_KEY') },
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

/** Settings that can't be used for want of another, or beside it. One that is there and wrong counts as there: it is told of by itself. */
function problemsTogether({ env }: SettingSources, { TTS_PROVIDER: provider, AI_PROVIDER }: Values): string[] {
  const isGiven = (name: SettingName) =>
    (env[name] ?? '') !== '' || ((settings[name] as Setting).secret === true && (env[`${name}_FILE`] ?? '') !== '');
  const problems: string[] = [];
  const needBoth = (one: SettingName, other: SettingName, of: SettingName[] = []) => {
    if (isGiven(one) !== isGiven(other))
      problems.push(`${isGiven(one) ? other : one} is needed beside ${isGiven(one) ? one : other}`);
    else if (!isGiven(one))
      problems.push(...of.filter(isGiven).map((name) => `${name} does nothing without ${one} and ${other}`));
  };
  const ofModel: SettingName[] = ['AI_API_KEY', 'AI_INPUT_PRICE', 'AI_OUTPUT_PRICE'];
  if (AI_PROVIDER !== undefined && AI_PROVIDER !== 'openai-compatible') {
    if (!isGiven('AI_MODEL')) problems.push(`AI_MODEL is needed with AI_PROVIDER=${AI_PROVIDER}`);
  } else needBoth('AI_BASE_URL', 'AI_MODEL', [...ofModel, 'AI_PROVIDER']);
  needBoth('AI_INPUT_PRICE', 'AI_OUTPUT_PRICE');
  needBoth('EMBEDDINGS_BASE_URL', 'EMBEDDINGS_MODEL', ['EMBEDDINGS_API_KEY']);
  needBoth('STT_BASE_URL', 'STT_MODEL', ['STT_API_KEY']);
  needBoth('SMTP_URL', 'MAIL_FROM');
  for (const name of ['SIP_WS_URL', 'SIP_RPC_URL', 'SIP_SHARED_SECRET'] as const) needBoth('SIP_DOMAIN', name);
  const ofSoftphones: SettingName[] = ['SIP_EMERGENCY', 'SIP_DIAL_ALLOW'];
  if (!isGiven('SIP_DOMAIN'))
    problems.push(...ofSoftphones.filter(isGiven).map((name) => `${name} does nothing without SIP_DOMAIN`));
  const ofEndpoint: SettingName[] = ['TTS_BASE_URL', 'TTS_MODEL', 'TTS_API_KEY'];
  if (provider === 'espeak')
    problems.push(...ofEndpoint.filter(isGiven).map((name) => `${name} does nothing with TTS_PROVIDER=espeak`));
  else if (provider === 'openai' && !isGiven('TTS_BASE_URL') && !isGiven('TTS_MODEL'))
    problems.push('TTS_BASE_URL and TTS_MODEL are needed with TTS_PROVIDER=openai');
  else if (provider !== undefined || !isGiven('TTS_PROVIDER'))
    needBoth('TTS_BASE_URL', 'TTS_MODEL', ['TTS_API_KEY', 'TTS_VOICE']);
  return problems;
}

/** A model of the hub; null where its address or its name is not set. */
function modelOf(values: Values): Config['ai'] {
  const { AI_PROVIDER, AI_MODEL, AI_API_KEY, AI_INPUT_PRICE, AI_OUTPUT_PRICE, AI_PRICE_CURRENCY } = values;
  const baseUrl = values.AI_BASE_URL ?? ownAddress[AI_PROVIDER ?? 'openai-compatible'] ?? undefined;
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

const ownAddress: Readonly<Record<ModelProvider, string | null>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  'openai-compatible': null,
};

/** Whose parameters an endpoint takes. OpenAI also has regional hosts, such as eu.api.openai.com. */
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

/** The settings as a Markdown table, for docs/settings.md. */
export function settingsTable(): string {
  const rows = Object.entries(settings as Record<string, Setting>).map(
    ([name, { default: value, description, secret }]) => {
      const source = secret === true ? ` (or \`${name}_FILE\`)` : '';
      return `| \`${name}\`${source} | ${value === '' ? '' : `\`${value}\``} | ${description} |`;
    },
  );
  return ['| setting | default | what it does |', '|---|---|---|', ...rows].join('\n');
}
