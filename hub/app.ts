import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { eq } from 'drizzle-orm';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { AppError } from '../shared/errors.ts';
import type { BodyLimits } from './api/body-watch.ts';
import { createIdempotency } from './api/idempotency.ts';
import { createAddressLimiter } from './api/address-limits.ts';
import { clientAddress } from './api/auth.ts';
import { createDeviceLimiter } from './api/device-limits.ts';
import { LiveStreams } from './api/live-streams.ts';
import { createHttpServer } from './api/server.ts';
import type { HttpServer } from './api/server.ts';
import { createOwnHosts } from './api/own-hosts.ts';
import { createPages } from './api/pages.ts';
import {
  approvalRoutes,
  flowRoutes,
  hookRoutes,
  runRoutes,
  sequenceRoutes,
  workflowRoutes,
} from './api/routes/automations.ts';
import { growthRoutes, marketingRoutes } from './api/routes/growth.ts';
import { identityRoutes } from './api/routes/identity.ts';
import { artifactRoutes, nodeRoutes } from './api/routes/nodes.ts';
import {
  agentRoutes,
  channelRoutes,
  insightRoutes,
  logRoutes,
  memoryRoutes,
  modelRoutes,
  packRoutes,
  policyRoutes,
  sessionRoutes,
} from './api/routes/resources.ts';
import { systemRoutes } from './api/routes/system.ts';
import type { Config } from './config.ts';
import { listDueRuns } from './engine/due-runs.ts';
import { dryRunSteps } from './engine/dry-run.ts';
import { Engine } from './engine/engine.ts';
import { callOf } from './engine/steps.ts';
import { countProcessDeath } from './engine/store.ts';
import { LeaseWatch, repairRuns } from './engine/sweeper.ts';
import { validateSteps } from './engine/validate-steps.ts';
import { WorkingMarks } from './engine/working-marks.ts';
import { jobCatalog } from './jobs/catalog.ts';
import { Outbox } from './jobs/outbox.ts';
import { RunPlaces } from './jobs/run-places.ts';
import { PeriodicTasks } from './jobs/periodic-tasks.ts';
import { pruneExpired } from './jobs/prune.ts';
import { removeOrphanBlobs } from './jobs/orphan-blobs.ts';
import { pruneAged, RunRetention } from './jobs/retention.ts';
import { Agents, findAgent, findToolProfile } from './modules/agents/index.ts';
import { Ai } from './modules/ai/index.ts';
import { ApprovalLinks, createApprovals, expireRunApprovals } from './modules/approvals/index.ts';
import { Audit } from './modules/audit/index.ts';
import { Channels } from './modules/channels/index.ts';
import { createChatEvents } from './modules/chat-events/index.ts';
import type { ChatEvents } from './modules/chat-events/index.ts';
import { Email } from './modules/email/index.ts';
import { Identity } from './modules/identity/index.ts';
import { Insight, rollUp } from './modules/insight/index.ts';
import { Logs } from './modules/logs/index.ts';
import { Marketing } from './modules/marketing/index.ts';
import { createMemory } from './modules/memory/index.ts';
import {
  ArtifactRoom,
  Artifacts,
  ArtifactUploads,
  CommandResults,
  Devices,
  foldArtifactRoom,
  NodeCommands,
  Nodes,
  Reachability,
} from './modules/nodes/index.ts';
import { Packs } from './modules/packs/index.ts';
import { Policies, readPolicy } from './modules/policies/index.ts';
import { createRuns, wakeForgottenLines } from './modules/runs/index.ts';
import type { PromisedJob } from './modules/runs/index.ts';
import { Schedules } from './modules/schedules/index.ts';
import { Sequences } from './modules/sequences/index.ts';
import { Sessions } from './modules/sessions/index.ts';
import { createDeliveries } from './modules/webhooks/index.ts';
import { WorkspaceLimits } from './modules/workspace-limits/index.ts';
import type { LimitedKind } from './modules/workspace-limits/index.ts';
import { createWorkflows } from './modules/workflows/index.ts';
import type { Workflows } from './modules/workflows/index.ts';
import { createFileBlobs } from './platform/blobs/blobs.ts';
import { createCursors } from './platform/cursor.ts';
import { explainError } from './platform/describe-error.ts';
import { Database } from './platform/db/database.ts';
import { Leadership } from './platform/db/leadership.ts';
import { afterCommit } from './platform/db/joined-transaction.ts';
import { migrateDatabase } from './platform/db/migrate.ts';
import { hubSettings } from './platform/db/schema.ts';
import { createEgress } from './platform/egress/egress.ts';
import { publishAfterCommit } from './platform/events/publish-after-commit.ts';
import { LiveTopics } from './platform/events/live-topics.ts';
import { PostgresEvents } from './platform/events/postgres-events.ts';
import { RedisEvents } from './platform/events/redis-events.ts';
import { createInference } from './platform/inference/inference.ts';
import { RecoveryWatch } from './platform/log-repeats.ts';
import type { Logger } from './platform/logger.ts';
import { createSmtpMailer } from './platform/mail/mail.ts';
import { startPostgresServer } from './platform/postgres-server/server.ts';
import { createBullMqQueue } from './platform/queue/bullmq-queue.ts';
import type { QueueWorker } from './platform/queue/queue.ts';
import { createPostgresRateLimiter } from './platform/rate-limiter/postgres-rate-limiter.ts';
import { createRedisRateLimiter } from './platform/rate-limiter/redis-rate-limiter.ts';
import { loadSecretKey } from './platform/secret-key.ts';
import { createSecrets } from './platform/secrets.ts';
import { describeEffect } from './skills/define.ts';
import type { SkillCatalog } from './skills/define.ts';
import { createSkillCatalog, describeSkill, isKnownPattern } from './skills/registry.ts';

export const version = (createRequire(import.meta.url)('../package.json') as { version: string }).version;

/** A running hub. */
export interface App extends AsyncDisposable {
  /** Where it answers; null for a worker, which serves nobody. */
  url: string | null;
  /** Whether this start made the demo workspace. */
  isNew: boolean;
  identity: Identity;
  nodes: Nodes;
  workflows: Workflows;
  /** Through which Live Chat tells what happened. */
  chatEvents: ChatEvents;
  /** For whoever tells events: the hub's own database. */
  db: Database;
  /** Does every periodic task once, now. */
  sweep(): Promise<void>;
}

export interface AppOptions {
  logger: Logger;
  /** Told in a line what takes a while at the start. */
  onNotice: (message: string) => void;
  /** How long the bodies of requests may take; for tests. */
  bodyLimits?: BodyLimits;
  /** How many of a kind a workspace may have; for tests. */
  workspaceLimits?: Partial<Record<LimitedKind, number>>;
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
export async function createApp(
  config: Config,
  { logger, onNotice, bodyLimits, workspaceLimits, serves = true }: AppOptions,
): Promise<App> {
  await using stack = new AsyncDisposableStack();
  const dispatchAfter: { outbox: Outbox | null } = { outbox: null };
  const dispatch = (jobs: PromisedJob[]) => afterCommit(() => dispatchAfter.outbox?.offer(jobs));

  const databaseUrl = config.database.url ?? stack.use(await startPostgresServer({ home: config.home, onNotice })).url;
  await migrateDatabase(databaseUrl, { onNotice }).catch((error: unknown) => {
    throw new AppError('unavailable', `The database can't be used: ${reasonOf(error)}; check DATABASE_URL.`, {
      cause: error,
    });
  });
  const db = stack.use(
    new Database({
      url: databaseUrl,
      maxConnections: config.database.maxConnections,
      applicationName: 'outrigger',
      onError: (error) => logger.warn({ err: error, part: 'database' }, 'a database connection broke; it is replaced'),
    }),
  );
  stack.use(new RecoveryWatch(logger, { database: (signal) => db.ping(signal) }));
  const secrets = createSecrets(config.secrets.key ?? loadSecretKey(config.home));
  await checkSecretKey(db, secrets.fingerprint);
  const cursors = createCursors(secrets.subkey('cursors'));
  const { redisUrl } = config;
  const unreachable = (error: unknown) => {
    throw new AppError(
      'unavailable',
      `Redis at ${new URL(redisUrl ?? '').host} can't be used: ${reasonOf(error)}; check REDIS_URL, and that Redis runs there.`,
      { cause: error },
    );
  };
  const events = publishAfterCommit(
    stack.use(
      redisUrl === null
        ? await PostgresEvents.connect(databaseUrl, logger)
        : await RedisEvents.connect(redisUrl, logger).catch(unreachable),
    ),
  );
  const live = stack.use(new LiveTopics(events));
  db.onWritten((topic) => live.written(topic));
  const rateLimiter = stack.use(
    redisUrl === null
      ? createPostgresRateLimiter(db)
      : await createRedisRateLimiter(redisUrl, logger).catch(unreachable),
  );
  const egress = stack.use(createEgress({ allowHosts: config.egress.allowHosts }));
  const blobs = await createFileBlobs(resolve(config.artifacts.folder ?? join(config.home, 'artifacts')));
  stack.use(new RecoveryWatch(logger, { artifacts: (signal) => blobs.check(signal) }));

  const pairingKey = secrets.subkey('pairing');
  const { pollSeconds, heartbeatSeconds } = config.nodes;
  const identity = new Identity({
    db,
    events,
    rateLimiter,
    signInsPerWindow: config.limits.signIn,
    cursors,
    sessionKey: secrets.subkey('sessions'),
    ...config.identity,
  });
  const limits = new WorkspaceLimits(workspaceLimits);
  const nodeCommands = new NodeCommands({ db, events, dispatch });
  const nodes = new Nodes({ db, events, cursors, limits, pairingKey, heartbeatSeconds, dispatch });
  const runs = createRuns({
    db,
    events,
    live,
    cursors,
    maxQueued: config.runs.maxQueuedPerWorkspace,
    dispatch,
    onCancel: async (tx, _tenantId, runIds) => {
      await expireRunApprovals(tx, runIds);
      return nodeCommands.withdraw(tx, runIds);
    },
  });
  const catalog: { skills: SkillCatalog | null } = { skills: null };
  // Skills call workflows' neighbours, and workflows are checked against the skills: whoever comes first reads the other when called.
  const skills: SkillCatalog = { find: (id) => catalog.skills?.find(id), list: () => catalog.skills?.list() ?? [] };
  const checkSteps: Parameters<typeof createWorkflows>[0]['validateSteps'] = (steps, entitlements) =>
    validateSteps(steps, skills, entitlements);
  const workflows = createWorkflows({
    db,
    cursors,
    secrets,
    runs,
    logger,
    limits,
    validateSteps: checkSteps,
    dryRun: async (tx, { tenantId, id, steps }, input) =>
      dryRunSteps(steps, skills, await readPolicy(tx, tenantId), { workflowId: id, ...input }),
  });
  const chatEvents = createChatEvents([(tx, event) => workflows.follow(tx, event)]);
  const mailer = config.mail === null ? null : stack.use(createSmtpMailer(config.mail));
  const email = new Email(db, mailer);
  // The operator chose this address, so it may be any.
  const ownEgress =
    config.ai === null
      ? null
      : stack.use(createEgress({ allowHosts: [new URL(config.ai.baseUrl).host, new URL(config.ai.baseUrl).hostname] }));
  const own =
    config.ai === null || ownEgress === null
      ? null
      : { binding: { provider: 'openai-compatible' as const, ...config.ai }, inference: createInference(ownEgress) };
  const ai = new Ai({ db, secrets, inference: createInference(egress), own });
  const channels = new Channels({ db, cursors, secrets, egress, email, runs, workflows, limits, logger });
  const publicUrl = config.http.publicUrl ?? `http://${config.http.host}:${config.http.port}`;
  const marketing = new Marketing({
    db,
    cursors,
    mailer,
    limits,
    unsubscribeKey: secrets.subkey('unsubscribe'),
    publicUrl,
  });
  const insight = new Insight({ db, heartbeatSeconds, hasOwnModel: own !== null });
  const memory = createMemory(db, cursors);
  catalog.skills = createSkillCatalog({
    runs,
    memory,
    deliveries: createDeliveries(db, egress),
    ai,
    email,
    channels,
    marketing,
    insight,
  });

  if (!serves) {
    const owned = stack.move();
    return {
      url: null,
      isNew: false,
      identity,
      nodes,
      workflows,
      chatEvents,
      db,
      sweep: async () => undefined,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }
  const isNew = await identity.ensureDemoWorkspace(demoWorkspace);

  const devices = new Devices({
    db,
    events,
    rateLimiter,
    commands: nodeCommands,
    pairingKey,
    pollSeconds,
    heartbeatSeconds,
  });
  const room = new ArtifactRoom(config.artifacts.maxWorkspaceBytes);
  const results = new CommandResults({ db, blobs, room, dispatch });
  const uploads = new ArtifactUploads({ db, blobs, room });
  const artifacts = new Artifacts(db, blobs);
  const approvals = createApprovals({ db, cursors, dispatch });
  const approvalLinks = new ApprovalLinks({ db, approvals, email, logger, dispatch, publicUrl: config.http.publicUrl });
  const isKnownSkill = (pattern: string) => isKnownPattern(skills, pattern);
  const agents = new Agents({ db, cursors, limits, isKnownSkill });
  const policies = new Policies(db, isKnownSkill, dispatch);
  const sequences = new Sequences({ db, cursors, workflows, runs, limits });
  const sessions = new Sessions({ db, cursors, limits });
  const logs = new Logs({ db, cursors, live });
  const audit = new Audit({ db, cursors });
  const schedules = new Schedules({ db, logger, dispatch, runs, validateSteps: checkSteps });
  const packSkills = skills.list().map((skill) => ({
    id: skill.id,
    title: skill.title,
    effect: describeEffect(skill),
    needsApproval: skill.kind === 'node' && skill.command.needsApproval,
  }));
  const packs = new Packs({
    db,
    workflows,
    limits,
    rules: { skills: packSkills, validateSteps: checkSteps, callOf },
    sdkSkills: () => skills.list().map(describeSkill),
  });

  const registry = new Registry();
  const metrics = createMetrics(registry, db);
  stack.defer(() => registry.clear());
  const queue = stack.use(
    await createBullMqQueue({
      backend: redisUrl === null ? { kind: 'postgres', url: databaseUrl } : { kind: 'redis', url: redisUrl },
      name: jobCatalog.run.queue,
      logger,
    }).catch((error: unknown) => {
      throw new AppError('unavailable', `The queue can't be used: ${reasonOf(error)}.`, { cause: error });
    }),
  );
  if (redisUrl !== null) stack.use(new RecoveryWatch(logger, { redis: (signal) => queue.ping(signal) }));
  const outbox = stack.use(new Outbox({ db, queue, logger }));
  dispatchAfter.outbox = outbox;
  const leases = new LeaseWatch();
  const retention = { db, blobs, logger, days: config.retention };
  const runRetention = new RunRetention(retention);
  const leadership = stack.use(new Leadership({ url: databaseUrl, name: 'periodic tasks', logger }));
  const periodicTasks = stack.use(
    new PeriodicTasks({
      logger,
      leadership,
      tasks: [
        {
          name: 'runs',
          everyMs: 3_000,
          run: async () => {
            const jobs = await repairRuns(db, { endLeases: leases.mayEnd(Date.now()) });
            leases.looked(Date.now());
            if (jobs.length > 0)
              logger.info({ runs: jobs.length }, 'woke runs that had lost their worker or their job');
            dispatch(jobs);
          },
        },
        { name: 'outbox', everyMs: 1_000, run: (stopping) => outbox.sweep(stopping) },
        { name: 'node commands', everyMs: 1_000, run: () => nodeCommands.sweep() },
        { name: 'approvals', everyMs: 1_000, run: () => approvals.settleExpired() },
        { name: 'schedules', everyMs: 500, run: () => schedules.fireDue() },
        { name: 'approval mails', everyMs: 2_000, run: () => approvalLinks.mailNew() },
        {
          name: 'held runs',
          everyMs: 30_000,
          run: async () => dispatch(await db.system((tx) => wakeForgottenLines(tx), { durable: false })),
        },
        { name: 'rollups', everyMs: 30_000, run: () => rollUp(db) },
        { name: 'retention of runs', everyMs: 60_000, run: (stopping) => runRetention.prune(stopping) },
        { name: 'retention of rows', everyMs: 60_000, run: (stopping) => pruneAged(retention, stopping) },
        {
          name: 'bytes without an artefact',
          everyMs: 21_600_000,
          run: (stopping) => removeOrphanBlobs({ db, blobs, logger }, stopping),
        },
        { name: 'uploads', everyMs: 60_000, run: () => uploads.sweep() },
        { name: 'room of artefacts', everyMs: 60_000, run: () => foldArtifactRoom(db) },
        { name: 'unclaimed nodes', everyMs: 600_000, run: () => nodes.pruneUnclaimed() },
        { name: 'rate limits', everyMs: 60_000, run: () => rateLimiter.prune() },
        { name: 'expired rows', everyMs: 60_000, run: (stopping) => pruneExpired(db, stopping) },
      ],
    }),
  );

  if (config.role !== 'api') {
    const mark = stack.use(
      await WorkingMarks.open(join(config.home, 'working'), { count: (visit) => countProcessDeath(db, visit), logger }),
    );
    const engine = new Engine({
      mark,
      db,
      events,
      skills,
      nodeCommands,
      logger,
      dispatch,
      onFinished: (status, seconds) => metrics.runs.observe({ status }, seconds),
      startChild: (tx, { tenantId, workflowId, ...request }) =>
        workflows.startWithin(tx, tenantId, workflowId, request),
      generate: (request) => ai.generate(request),
      findAgent,
      findToolProfile,
    });
    const shutdown = new AbortController();
    const places = new RunPlaces({
      ...config.worker,
      handler: (runId, place) => engine.execute(runId, shutdown.signal, place),
      listDue: (after, except) => listDueRuns(db, after, except),
      logger,
    });
    const worker: QueueWorker = await queue.work({
      concurrency: places.maxInLine,
      handler: ({ data }) => places.accept(jobCatalog.run.data.parse(data)),
    });
    outbox.preferLocal((job) => places.take(job));
    stack.defer(async () => {
      // Steps that end by themselves in time may; the others are given back for another worker to take.
      const late = setTimeout(() => shutdown.abort(new Error('the hub stops')), config.http.shutdownMs / 2);
      await Promise.all([worker.drain(config.http.shutdownMs), places.drain(config.http.shutdownMs)]);
      clearTimeout(late);
    });
  }

  let url: string | null = null;
  if (config.role !== 'worker') {
    const checks: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
      database: (signal) => db.ping(signal),
      queue: (signal) => queue.ping(signal),
      artifacts: (signal) => blobs.check(signal),
    };
    const check = async () =>
      Object.fromEntries(
        await Promise.all(Object.entries(checks).map(async ([name, run]) => [name, await checkPart(run)] as const)),
      );
    const faces = { nodes, devices, results, artifacts, uploads, room, partials: blobs.partials };
    const limitAddress = createAddressLimiter(rateLimiter, config.limits);
    const hosts = createOwnHosts({
      publicUrl: config.http.publicUrl,
      host: config.http.host,
      listensAt: () => url ?? publicUrl,
    });
    const server: HttpServer = createHttpServer({
      routes: [
        // Redis only wakes workers and counts; PostgreSQL's sweep and each process for itself do that too. Artefacts wait at their devices.
        ...systemRoutes({ version, check, dispensable: ['artifacts', ...(redisUrl === null ? [] : ['queue'])] }),
        ...identityRoutes(identity),
        ...workflowRoutes(workflows),
        ...sequenceRoutes(sequences),
        ...runRoutes(runs),
        ...flowRoutes(runs),
        ...hookRoutes(workflows),
        ...approvalRoutes(approvals),
        ...nodeRoutes(faces),
        ...artifactRoutes(faces),
        ...policyRoutes(policies),
        ...agentRoutes(agents),
        ...modelRoutes(ai),
        ...sessionRoutes(sessions),
        ...memoryRoutes(memory),
        ...channelRoutes(channels),
        ...logRoutes(logs),
        ...packRoutes(packs),
        ...insightRoutes(insight),
        ...growthRoutes({
          workflows,
          sequences,
          runs,
          agents,
          approvals,
          approvalLinks,
          policies,
          sessions,
          channels,
          nodes,
          insight,
          audit,
        }),
        ...marketingRoutes(marketing),
      ],
      pages: createPages({
        identity,
        approvalLinks,
        marketing,
        registry,
        metricsToken: config.http.metricsToken,
        hosts,
        limit: limitAddress,
        addressOf: (request) => clientAddress(request, config.http.trustedProxies),
        secureCookies: config.http.publicUrl?.startsWith('https:') === true,
        version,
        down: async () => Object.entries(await check()).flatMap(([name, part]) => (part.ok ? [] : [name])),
      }),
      auth: {
        identity,
        authenticateDevice: (nodeId, secret) => devices.authenticate(nodeId, secret),
        platformAdminKey: config.secrets.platformAdminKey,
        hosts,
      },
      idempotency: createIdempotency(db, secrets),
      streams: stack.use(new LiveStreams({ events, shares: config.streams })),
      rateLimiter,
      limitAddress,
      limitDevice: createDeviceLimiter(rateLimiter, config.limits.device),
      logger,
      publicUrl: config.http.publicUrl,
      trustedProxies: config.http.trustedProxies,
      limits: config.limits,
      ...(bodyLimits === undefined ? {} : { bodyLimits }),
      validateResponses: config.http.validateResponses,
      onFinished: (operation, status, seconds) =>
        metrics.requests.observe({ operation, status: String(status) }, seconds),
    });
    stack.use(await Reachability.announce(db, logger));
    url = await server.listen(config.http.host, config.http.port);
    stack.defer(() => server.drain(config.http.shutdownMs));
  }
  if (isNew) logger.info({ workspace: demoWorkspace }, 'made the demo workspace');
  const owned = stack.move();
  return {
    url,
    isNew,
    identity,
    nodes,
    workflows,
    chatEvents,
    db,
    sweep: () => periodicTasks.runAll(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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
  const finished = new Counter({
    name: 'outrigger_runs_finished_total',
    help: 'Runs that ended on this process',
    labelNames: ['status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'outrigger_run_seconds',
    help: 'From the acceptance of a run to its end',
    labelNames: ['status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300],
    registers: [registry],
  });
  return {
    requests: new Histogram({
      name: 'outrigger_http_request_seconds',
      help: 'Duration of requests by operation',
      labelNames: ['operation', 'status'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers: [registry],
    }),
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
  } catch (error) {
    return { ok: false, message: error instanceof AppError ? error.message : 'does not answer' };
  }
}

/** All processes of an installation must share one key; with another, sealed secrets could not be opened. */
async function checkSecretKey(db: Database, fingerprint: string): Promise<void> {
  await db.system(async (tx) => {
    await tx.insert(hubSettings).values({ key: 'secret_key_fingerprint', value: fingerprint }).onConflictDoNothing();
    const [row] = await tx
      .select({ value: hubSettings.value })
      .from(hubSettings)
      .where(eq(hubSettings.key, 'secret_key_fingerprint'));
    if (row?.value !== fingerprint)
      throw new AppError(
        'unavailable',
        'SECRET_KEY is not the one that this database was set up with; give every process of an installation the same key.',
      );
  });
}

function reasonOf(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code } = current as { code?: string };
    if (typeof code === 'string' && code !== '')
      return `${code}${current.message === '' ? '' : ` (${current.message})`}`;
  }
  // Nobody's data is under way yet, but a statement that failed would be quoted in full.
  return error instanceof Error && !error.message.startsWith('Failed query') ? error.message : explainError(error);
}
