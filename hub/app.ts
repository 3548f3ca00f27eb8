import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { eq } from 'drizzle-orm';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { AppError } from '../shared/errors.ts';
import { createHttpServer } from './api/server.ts';
import type { HttpServer } from './api/server.ts';
import { createPages } from './api/pages.ts';
import { approvalRoutes, hookRoutes, runRoutes, workflowRoutes } from './api/routes/automations.ts';
import { identityRoutes } from './api/routes/identity.ts';
import { artifactRoutes, nodeRoutes } from './api/routes/nodes.ts';
import { systemRoutes } from './api/routes/system.ts';
import type { Config } from './config.ts';
import { Engine } from './engine/engine.ts';
import { Sweeper } from './engine/sweeper.ts';
import { validateSteps } from './engine/validate-steps.ts';
import { jobCatalog } from './jobs/catalog.ts';
import { LocalWorker } from './jobs/local-worker.ts';
import { Outbox } from './jobs/outbox.ts';
import { pruneExpired } from './jobs/prune.ts';
import { createApprovals, expireRunApprovals } from './modules/approvals/index.ts';
import { Identity } from './modules/identity/index.ts';
import { createMemory } from './modules/memory/index.ts';
import { Artifacts, CommandResults, Devices, NodeCommands, Nodes } from './modules/nodes/index.ts';
import { createRuns } from './modules/runs/index.ts';
import type { PromisedJob } from './modules/runs/index.ts';
import { createDeliveries } from './modules/webhooks/index.ts';
import { createWorkflows } from './modules/workflows/index.ts';
import { createFileBlobs } from './platform/blobs/blobs.ts';
import { createCursors } from './platform/cursor.ts';
import { Database } from './platform/db/database.ts';
import { migrateDatabase } from './platform/db/migrate.ts';
import { hubSettings } from './platform/db/schema.ts';
import { createEgress } from './platform/egress/egress.ts';
import { PostgresEvents } from './platform/events/postgres-events.ts';
import { RedisEvents } from './platform/events/redis-events.ts';
import type { Logger } from './platform/logger.ts';
import { startPostgresServer } from './platform/postgres-server/server.ts';
import { createBullMqQueue } from './platform/queue/bullmq-queue.ts';
import type { QueueWorker } from './platform/queue/queue.ts';
import { createPostgresRateLimiter } from './platform/rate-limiter/postgres-rate-limiter.ts';
import { createRedisRateLimiter } from './platform/rate-limiter/redis-rate-limiter.ts';
import { loadSecretKey } from './platform/secret-key.ts';
import { createSecrets } from './platform/secrets.ts';
import { createSkillCatalog } from './skills/registry.ts';

export const version = (createRequire(import.meta.url)('../package.json') as { version: string }).version;

/** A running hub. */
export interface App extends AsyncDisposable {
  /** Where it answers; null for a worker, which serves nobody. */
  url: string | null;
  /** Whether this start made the demo workspace. */
  isNew: boolean;
  identity: Identity;
  nodes: Nodes;
}

export interface AppOptions {
  logger: Logger;
  /** Told in a line what takes a while at the start. */
  onNotice: (message: string) => void;
  /** False for the command line, which serves nobody and runs nothing. */
  serves?: boolean;
}

const demoWorkspace = 'demo';
const checkDeadlineMs = 2_000;

/**
 * Puts a hub together and starts it: database, queue, API and worker as its role says. Whatever it started it ends when it is
 * disposed, in the reverse order; if the start fails, at once.
 * @throws AppError with one line when something that it needs is not to be had.
 */
export async function createApp(config: Config, { logger, onNotice, serves = true }: AppOptions): Promise<App> {
  await using stack = new AsyncDisposableStack();
  const dispatchAfter: { outbox: Outbox | null } = { outbox: null };
  const dispatch = (jobs: PromisedJob[]) => dispatchAfter.outbox?.offer(jobs);

  const databaseUrl = config.database.url ?? stack.use(await startPostgresServer({ home: config.home, onNotice })).url;
  await migrateDatabase(databaseUrl).catch((error: unknown) => {
    throw new AppError('unavailable', `The database can't be used: ${reasonOf(error)}; check DATABASE_URL.`, { cause: error });
  });
  const db = stack.use(
    new Database({
      url: databaseUrl,
      maxConnections: config.database.maxConnections,
      applicationName: 'outrigger',
      onError: (error) => logger.warn({ err: error }, 'a database connection broke; it is replaced'),
    }),
  );
  const secrets = createSecrets(config.secrets.key ?? loadSecretKey(config.home));
  await checkSecretKey(db, secrets.fingerprint);
  const cursors = createCursors(secrets.subkey('cursors'));
  const { redisUrl } = config;
  const unreachable = (error: unknown) => {
    throw new AppError('unavailable', `Redis can't be reached: ${reasonOf(error)}; check REDIS_URL.`, { cause: error });
  };
  const events = stack.use(redisUrl === null ? await PostgresEvents.connect(databaseUrl, logger) : await RedisEvents.connect(redisUrl, logger).catch(unreachable));
  const rateLimiter = stack.use(redisUrl === null ? createPostgresRateLimiter(db) : createRedisRateLimiter(redisUrl, logger));
  const egress = stack.use(createEgress({ allowHosts: config.egress.allowHosts }));
  const blobs = await createFileBlobs(resolve(config.artifactsFolder ?? join(config.home, 'artifacts')));

  const pairingKey = secrets.subkey('pairing');
  const { pollSeconds, heartbeatSeconds } = config.nodes;
  const identity = new Identity({ db, cursors, sessionKey: secrets.subkey('sessions'), ...config.identity });
  const nodeCommands = new NodeCommands({ db, events, dispatch });
  const nodes = new Nodes({ db, events, cursors, pairingKey, heartbeatSeconds, dispatch });
  if (!serves) {
    const owned = stack.move();
    return { url: null, isNew: false, identity, nodes, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  }
  const isNew = await identity.ensureDemoWorkspace(demoWorkspace);

  const devices = new Devices({ db, events, rateLimiter, commands: nodeCommands, pairingKey, pollSeconds, heartbeatSeconds });
  const results = new CommandResults({ db, blobs, dispatch });
  const artifacts = new Artifacts(db, blobs);
  const runs = createRuns({
    db,
    events,
    cursors,
    dispatch,
    onCancel: async (tx, _tenantId, runId) => {
      await expireRunApprovals(tx, runId);
      return nodeCommands.withdraw(tx, runId);
    },
  });
  const skills = createSkillCatalog({ runs, memory: createMemory(db), deliveries: createDeliveries(egress) });
  const workflows = createWorkflows({ db, cursors, secrets, runs, validateSteps: (steps, entitlements) => validateSteps(steps, skills, entitlements) });
  const approvals = createApprovals({ db, cursors, dispatch });

  const registry = new Registry();
  const metrics = createMetrics(registry, db);
  stack.defer(() => registry.clear());
  const queue = stack.use(
    await createBullMqQueue({ backend: redisUrl === null ? { kind: 'postgres', url: databaseUrl } : { kind: 'redis', url: redisUrl }, name: jobCatalog.run.queue, logger }).catch((error: unknown) => {
      throw new AppError('unavailable', `The queue can't be used: ${reasonOf(error)}.`, { cause: error });
    }),
  );
  const outbox = stack.use(new Outbox({ db, queue, logger }));
  dispatchAfter.outbox = outbox;
  stack.use(
    new Sweeper({
      db,
      logger,
      dispatch,
      tasks: [
        { name: 'outbox', everyMs: 1_000, run: () => outbox.sweep() },
        { name: 'node commands', everyMs: 1_000, run: () => nodeCommands.sweep() },
        { name: 'approvals', everyMs: 1_000, run: () => approvals.settleExpired() },
        { name: 'unclaimed nodes', everyMs: 600_000, run: () => nodes.pruneUnclaimed() },
        { name: 'rate limits', everyMs: 600_000, run: () => rateLimiter.prune() },
        { name: 'expired rows', everyMs: 60_000, run: () => pruneExpired(db) },
      ],
    }),
  );

  if (config.role !== 'api') {
    const engine = new Engine({ db, events, skills, nodeCommands, logger, dispatch, onFinished: (status, seconds) => metrics.runs.observe({ status }, seconds) });
    const shutdown = new AbortController();
    const execute = async ({ data }: { data: unknown }) => engine.execute(jobCatalog.run.data.parse(data).runId, shutdown.signal);
    const { concurrency } = config.worker;
    const worker: QueueWorker = await queue.work({ concurrency, handler: execute });
    const local = new LocalWorker({ concurrency, handler: execute, logger });
    outbox.preferLocal((job) => local.take(job));
    stack.defer(async () => {
      // Steps that end by themselves in time may; the others are given back for another worker to take.
      const late = setTimeout(() => shutdown.abort(new Error('the hub stops')), config.http.shutdownMs / 2);
      await Promise.all([worker.drain(config.http.shutdownMs), local.drain(config.http.shutdownMs)]);
      clearTimeout(late);
    });
  }

  let url: string | null = null;
  if (config.role !== 'worker') {
    const checks: Record<string, (signal: AbortSignal) => Promise<unknown>> = { database: (signal) => db.ping(signal), queue: (signal) => queue.ping(signal) };
    const check = async () => Object.fromEntries(await Promise.all(Object.entries(checks).map(async ([name, run]) => [name, await checkPart(run)] as const)));
    const faces = { nodes, devices, results, artifacts };
    const server: HttpServer = createHttpServer({
      routes: [
        ...systemRoutes({ version, check }),
        ...identityRoutes(identity),
        ...workflowRoutes(workflows),
        ...runRoutes(runs),
        ...hookRoutes(workflows),
        ...approvalRoutes(approvals),
        ...nodeRoutes(faces),
        ...artifactRoutes(faces),
      ],
      pages: createPages({
        identity,
        registry,
        metricsToken: config.http.metricsToken,
        secureCookies: config.http.publicUrl?.startsWith('https:') === true,
        version,
        down: async () => Object.entries(await check()).flatMap(([name, part]) => (part.ok ? [] : [name])),
      }),
      auth: { identity, authenticateDevice: (nodeId, secret) => devices.authenticate(nodeId, secret), platformAdminKey: config.secrets.platformAdminKey },
      db,
      rateLimiter,
      logger,
      publicUrl: config.http.publicUrl,
      trustedProxies: config.http.trustedProxies,
      limits: config.limits,
      validateResponses: config.http.validateResponses,
      onFinished: (operation, status, seconds) => metrics.requests.observe({ operation, status: String(status) }, seconds),
    });
    url = await server.listen(config.http.host, config.http.port);
    stack.defer(() => server.drain(config.http.shutdownMs));
  }
  if (isNew) logger.info({ workspace: demoWorkspace }, 'made the demo workspace');
  const owned = stack.move();
  return { url, isNew, identity, nodes, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function createMetrics(registry: Registry, db: Database) {
  collectDefaultMetrics({ register: registry });
  const connections = new Gauge({
    name: 'outrigger_database_connections',
    help: 'Connections of this process to the database',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { total, idle, waiting } = db.load;
      connections.set({ state: 'used' }, total - idle);
      connections.set({ state: 'idle' }, idle);
      connections.set({ state: 'waited_for' }, waiting);
    },
  });
  const finished = new Counter({ name: 'outrigger_runs_finished_total', help: 'Runs that ended on this process', labelNames: ['status'], registers: [registry] });
  const seconds = new Histogram({ name: 'outrigger_run_seconds', help: 'From the acceptance of a run to its end', labelNames: ['status'], buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300], registers: [registry] });
  return {
    requests: new Histogram({ name: 'outrigger_http_request_seconds', help: 'Duration of requests by operation', labelNames: ['operation', 'status'], buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30], registers: [registry] }),
    runs: {
      observe(labels: { status: string }, value: number) {
        finished.inc(labels);
        seconds.observe(labels, value);
      },
    },
  };
}

async function checkPart(run: (signal: AbortSignal) => Promise<unknown>): Promise<{ ok: boolean; message?: string }> {
  try {
    await run(AbortSignal.timeout(checkDeadlineMs));
    return { ok: true };
  } catch {
    return { ok: false, message: 'does not answer' };
  }
}

/** All processes of an installation must share one key; with another, sealed secrets could not be opened. */
async function checkSecretKey(db: Database, fingerprint: string): Promise<void> {
  await db.system(async (tx) => {
    await tx.insert(hubSettings).values({ key: 'secret_key_fingerprint', value: fingerprint }).onConflictDoNothing();
    const [row] = await tx.select({ value: hubSettings.value }).from(hubSettings).where(eq(hubSettings.key, 'secret_key_fingerprint'));
    if (row?.value !== fingerprint) throw new AppError('unavailable', 'SECRET_KEY is not the one that this database was set up with; give every process of an installation the same key.');
  });
}

function reasonOf(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code } = current as { code?: string };
    if (typeof code === 'string' && code !== '') return `${code}${current.message === '' ? '' : ` (${current.message})`}`;
  }
  return error instanceof Error ? error.message : String(error);
}
