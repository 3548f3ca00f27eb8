import { join, resolve } from 'node:path';
import { AppError } from '../../shared/errors.ts';
import { createFileBlobs } from './blobs/blobs.ts';
import type { Blobs } from './blobs/blobs.ts';
import { createCursors } from './cursor.ts';
import type { Cursors } from './cursor.ts';
import { proveSession } from './db/connection-proof.ts';
import { Database } from './db/database.ts';
import { migrateDatabase } from './db/migrate.ts';
import { MonthlyPartitions } from './db/monthly-partitions.ts';
import type { DatabaseTimeouts } from './db/open-pool.ts';
import { createEgress } from './egress/egress.ts';
import type { Egress } from './egress/egress.ts';
import type { Events } from './events/events.ts';
import { LiveTopics } from './events/live-topics.ts';
import { PostgresEvents } from './events/postgres-events.ts';
import { smallBodyBytes } from './http/routing/body.ts';
import { addressOf, createSmtpMailer } from './mail/mail.ts';
import type { Mailer } from './mail/mail.ts';
import { RecoveryWatch } from './observability/log-throttle.ts';
import type { Logger } from './observability/logger.ts';
import { reasonOf } from './observability/reason-of.ts';
import type { Tracing, TracingSettings } from './observability/tracing/tracing.ts';
import { startPostgresServer } from './postgres-server/server.ts';
import { MemoryBudget, partOfHeap } from './process/memory-budget.ts';
import { createPush } from './push/push.ts';
import type { Push } from './push/push.ts';
import { LeasingRateLimiter } from './rate-limiter/leasing-rate-limiter.ts';
import { createPostgresCounts } from './rate-limiter/postgres-counts.ts';
import type { RateLimiter } from './rate-limiter/rate-limiter.ts';
import { assertSecretKey, loadSecretKey } from './secrets/secret-key.ts';
import { createSecrets } from './secrets/secrets.ts';
import type { Secrets } from './secrets/secrets.ts';

export interface PlatformSettings {
  home: string;
  artifacts: { folder: string | null };
  database: { url: string | null; maxConnections: number };
  redisUrl: string | null;
  secrets: { key: Buffer | null };
  egress: { allowHosts: string[] };
  http: { publicUrl: string | null };
  mail: { url: string; from: string } | null;
  tracing: TracingSettings | null;
}

/** How long a large response or request body waits for memory, in milliseconds. */
const memoryWaitMs = 10_000;
/**
 * Limit of the memory for parsed bodies, in bytes. Parsing a large body also blocks the event loop, so few of them are
 * admitted at a time.
 */
const maxBodyMemory = 128 * 1024 * 1024;
/** Limit of the memory for bodies that are being received, in bytes. Their buffers are outside the V8 heap. */
const maxIncomingMemory = 192 * 1024 * 1024;

/** The services that all products use. */
export interface Platform {
  logger: Logger;
  db: Database;
  databaseUrl: string;
  months: MonthlyPartitions;
  secrets: Secrets;
  cursors: Cursors;
  events: Events;
  live: LiveTopics;
  rateLimiter: RateLimiter;
  egress: Egress;
  blobs: Blobs;
  /**
   * Files of conversations. They are stored apart from `blobs`, because the sweep of `blobs` deletes every file that no
   * artifact refers to.
   */
  chatBlobs: Blobs;
  mailer: Mailer | null;
  push: Push;
  /** Memory for large responses, reserved until the client has read them. */
  answerMemory: MemoryBudget;
  /** Memory for the raw bytes of request bodies, reserved from before they are read until they are parsed. */
  incomingMemory: MemoryBudget;
  /** Memory for parsed request bodies, reserved until the request is answered. */
  bodyMemory: MemoryBudget;
  /** Null when tracing is off. */
  tracing: Tracing | null;
}

/** Imports the tracing libraries only when tracing is on. */
async function openTracing(settings: TracingSettings, logger: Logger): Promise<Tracing> {
  const { createTracing } = await import('./observability/tracing/tracing.ts');
  return createTracing(settings, logger);
}

/** Where push services can reach the operator of the hub. Some services refuse messages without such an address. */
function contactOf({ http, mail }: Pick<PlatformSettings, 'http' | 'mail'>): string {
  if (http.publicUrl?.startsWith('https://') === true) return http.publicUrl;
  return `mailto:${mail === null ? 'operator@outrigger.invalid' : addressOf(mail.from)}`;
}

// Imported only when REDIS_URL is set.
const connectRedisEvents = async (url: string, secrets: Secrets, logger: Logger) =>
  (await import('./events/redis-events.ts')).RedisEvents.connect(url, secrets, logger);
const openRedisCounts = async (url: string, logger: Logger) =>
  (await import('./rate-limiter/redis-counts.ts')).createRedisCounts(url, logger);

/**
 * Opens the services that all products use: database, events, rate limits, egress, blobs and mail.
 * @param stack disposes of all of them, in reverse order.
 * @throws AppError with a one-line message when a required service is unavailable.
 */
export async function openPlatform(
  stack: AsyncDisposableStack,
  settings: PlatformSettings,
  {
    logger,
    onNotice,
    databaseTimeouts,
  }: { logger: Logger; onNotice: (message: string) => void; databaseTimeouts?: DatabaseTimeouts },
): Promise<Platform> {
  const { redisUrl } = settings;
  const tracing = settings.tracing === null ? null : stack.use(await openTracing(settings.tracing, logger));
  const databaseUrl =
    settings.database.url ?? stack.use(await startPostgresServer({ home: settings.home, onNotice })).url;
  const openDatabase = async () => {
    await proveSession(databaseUrl);
    await migrateDatabase(databaseUrl, { onNotice });
  };
  await openDatabase().catch((error: unknown) => {
    if (error instanceof AppError) throw error;
    throw new AppError('unavailable', `The database can't be used: ${reasonOf(error)}; check DATABASE_URL.`, {
      cause: error,
    });
  });
  const db = stack.use(
    new Database({
      url: databaseUrl,
      maxConnections: settings.database.maxConnections,
      applicationName: 'outrigger',
      ...databaseTimeouts,
      onError: (error) => logger.warn({ err: error, part: 'database' }, 'a database connection failed and is replaced'),
      onEffectError: (error) =>
        logger.error({ err: error, part: 'database' }, 'a transaction was committed, but what follows it failed'),
    }),
  );
  await db.prove();
  stack.use(new RecoveryWatch(logger, { database: (signal) => db.ping(signal) }));
  const secrets = createSecrets(settings.secrets.key ?? loadSecretKey(settings.home));
  await assertSecretKey(db, secrets.fingerprint);
  const unreachable = (error: unknown) => {
    throw new AppError(
      'unavailable',
      `Redis at ${new URL(redisUrl ?? '').host} can't be used: ${reasonOf(error)}; check REDIS_URL, and that Redis runs there.`,
      { cause: error },
    );
  };
  const events = stack.use(
    redisUrl === null
      ? await PostgresEvents.connect(databaseUrl, secrets, logger)
      : await connectRedisEvents(redisUrl, secrets, logger).catch(unreachable),
  );
  db.onPublished((topic, payload) => events.publish(topic, payload));
  const live = stack.use(new LiveTopics(events));
  db.onChanged((topic) => live.changed(topic));
  const rateLimiter = stack.use(
    redisUrl === null
      ? new LeasingRateLimiter(createPostgresCounts(db))
      : new LeasingRateLimiter(await openRedisCounts(redisUrl, logger).catch(unreachable)),
  );
  const egress = stack.use(createEgress({ allowHosts: settings.egress.allowHosts }));
  const blobFolder = resolve(settings.artifacts.folder ?? join(settings.home, 'artifacts'));
  const blobs = await createFileBlobs(blobFolder);
  // `list` skips folders whose names begin with a dot.
  const chatBlobs = await createFileBlobs(join(blobFolder, '.chat'));
  stack.use(new RecoveryWatch(logger, { artifacts: (signal) => blobs.check(signal) }));
  const mailer = settings.mail === null ? null : stack.use(createSmtpMailer(settings.mail));
  return {
    logger,
    db,
    databaseUrl,
    months: new MonthlyPartitions({ url: databaseUrl, logger }),
    secrets,
    cursors: createCursors(secrets.subkey('cursors')),
    events,
    live,
    rateLimiter,
    egress,
    blobs,
    chatBlobs,
    mailer,
    push: createPush({ db, secrets, egress, contact: contactOf(settings) }),
    answerMemory: new MemoryBudget({ limitBytes: partOfHeap(1 / 8), waitMs: memoryWaitMs }),
    incomingMemory: new MemoryBudget({
      limitBytes: maxIncomingMemory,
      waitMs: memoryWaitMs,
      freeBytes: smallBodyBytes,
      maxShareOfFree: 1 / 4,
    }),
    bodyMemory: new MemoryBudget({ limitBytes: Math.min(partOfHeap(1 / 4), maxBodyMemory), waitMs: memoryWaitMs }),
    tracing,
  };
}
