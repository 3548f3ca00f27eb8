import type { Config } from './config.ts';
import { engineRetention, engineTasks } from './engine/queue/upkeep.ts';
import { openWakeUps } from './engine/queue/wake-ups.ts';
import { SkillRegistry } from './engine/skills/skill-catalog.ts';
import { RunIntake } from './engine/starts/intake.ts';
import packageJson from './package.json' with { type: 'json' };
import { adviseOnDatabase } from './platform/db/database-advice.ts';
import type { DatabaseAdvice } from './platform/db/database-advice.ts';
import type { Database } from './platform/db/database.ts';
import { Leadership } from './platform/db/leadership.ts';
import type { DatabaseTimeouts } from './platform/db/open-pool.ts';
import { monthlyTables, retentionTasks } from './platform/db/row-retention.ts';
import type { BodyLimits } from './platform/http/routing/body-timeout.ts';
import { idempotencyRetention } from './platform/http/routing/idempotency.ts';
import type { LingerLimits } from './platform/http/routing/send-json.ts';
import type { InferenceLimits } from './platform/inference/inference.ts';
import type { Logger } from './platform/observability/logger.ts';
import { openPlatform } from './platform/open-platform.ts';
import { PeriodicTasks } from './platform/process/periodic-tasks.ts';
import type { Product } from './product.ts';
import { createAi, createReplies } from './products/ai/index.ts';
import { createAutomations } from './products/automations/index.ts';
import type { HubPacks, Workflows } from './products/automations/index.ts';
import { createCalls } from './products/calls/index.ts';
import type { SipLimits } from './products/calls/index.ts';
import type { CallsProduct } from './products/calls/index.ts';
import { createChat } from './products/chat/index.ts';
import type { Chat, ChatEvents } from './products/chat/index.ts';
import { createCore } from './products/core/index.ts';
import type { Identity, LimitedKind } from './products/core/index.ts';
import { createMarketing } from './products/marketing/index.ts';
import { createNodes } from './products/nodes/index.ts';
import type { Nodes } from './products/nodes/index.ts';
import { createWebhooks } from './products/webhooks/index.ts';

export const { version } = packageJson;

/** A running hub. */
export interface App extends AsyncDisposable {
  /** URL of the hub; null for a worker, which serves no requests. */
  url: string | null;
  /** Whether this start created the demo workspace. */
  isNew: boolean;
  identity: Identity;
  nodes: Nodes;
  workflows: Workflows;
  hubPacks: HubPacks;
  calls: Pick<CallsProduct, 'importCsv' | 'reconcile'>;
  chat: Pick<Chat, 'conversations' | 'inbox' | 'settings'>;
  /** Publishes events of Live Chat. */
  chatEvents: ChatEvents;
  /** The hub's database, for callers that publish events. */
  db: Database;
  /** Returns how many connections are in use and allowed, and recommends changes of the database configuration. */
  adviseOnDatabase(settings: Pick<Config, 'database' | 'redisUrl'>): Promise<DatabaseAdvice>;
  /** Runs every periodic task once, immediately. */
  sweep(): Promise<void>;
}

export interface AppOptions {
  logger: Logger;
  /** Called with a line of text for each step of the start that takes a while. */
  onNotice: (message: string) => void;
  /** Time limits of request bodies; for tests. */
  bodyLimits?: BodyLimits;
  /** Time limits for the rest of a request body after an early response; for tests. */
  lingerLimits?: LingerLimits;
  /** Time limits of waits for the database; for tests. */
  databaseTimeouts?: DatabaseTimeouts;
  /** Time limits of model requests; for tests. */
  modelLimits?: InferenceLimits;
  /** Time limits towards the SIP server; for tests. */
  sipLimits?: SipLimits;
  /** Limits of resources per workspace; for tests. */
  workspaceLimits?: Partial<Record<LimitedKind, number>>;
  /** False for the command line, which neither serves requests nor executes runs. */
  serves?: boolean;
}

const demoWorkspace = 'demo';

/**
 * Creates and starts a hub for its role. Disposal stops its parts in reverse order. If the start fails, the started
 * parts are stopped immediately.
 * @throws AppError with a one-line message when a required service is unavailable.
 */
export async function createApp(config: Config, options: AppOptions): Promise<App> {
  const { logger, bodyLimits, lingerLimits, modelLimits, sipLimits, workspaceLimits, serves = true } = options;
  await using stack = new AsyncDisposableStack();

  // Services that all products use.
  const platform = await openPlatform(stack, config, options);
  const { db, blobs } = platform;
  const wakeUps = serves ? await openWakeUps(stack, platform, config.redisUrl) : null;
  if (wakeUps !== null) db.onDue((tenantIds) => wakeUps.wake(tenantIds));
  const skills = new SkillRegistry();

  // Products.
  const core = createCore(platform, config, workspaceLimits);
  const { identity, limits } = core;
  const intake = wakeUps === null ? null : new RunIntake(db);
  const nodes = createNodes(stack, platform, config, { limits, intake });
  const ai = createAi(stack, platform, config, modelLimits);
  const calls = createCalls(stack, platform, config, { limits, events: core.events, identity, sipLimits });
  const chat = createChat(stack, platform, config, { limits });
  // Products that subscribe to chat events are created in the order in which their subscribers acquire locks:
  // automations, webhooks, AI replies.
  const automations = createAutomations(platform, config, {
    limits,
    nodes,
    ai: ai.ai,
    chat,
    skills,
    intake,
  });
  const webhooks = createWebhooks(platform, config, { limits, chatEvents: chat.events });
  const replies = createReplies(platform, ai, { skills, actions: automations.approvedSkills, chat });
  const marketing = createMarketing(platform, config, { limits });
  const products: Product[] = [core, automations, ai, marketing, nodes, webhooks, calls, chat, replies];
  skills.add(products.flatMap((product) => product.skills ?? []));

  const { workflows, hubPacks } = automations;
  const adviseOn: App['adviseOnDatabase'] = ({ database, redisUrl }) =>
    adviseOnDatabase(db, {
      poolSize: database.maxConnections,
      hasRedis: redisUrl !== null,
      isExternal: database.url !== null,
    });
  const parts = {
    adviseOnDatabase: adviseOn,
    identity,
    nodes: nodes.nodes,
    workflows,
    hubPacks,
    calls,
    chat,
    chatEvents: chat.events,
    db,
  };
  if (wakeUps === null || intake === null)
    return { ...parts, ...ownedBy(stack), url: null, isNew: false, sweep: async () => undefined };
  for (const warning of (await adviseOn(config)).warnings) logger.warn(warning);
  const isNew = await identity.ensureDemoWorkspace(demoWorkspace);

  // Parts that execute and serve. The command line does not import them.
  const [{ createMetrics }, { startWorker }, { serveHttp }] = await Promise.all([
    import('./platform/observability/metrics.ts'),
    import('./engine/queue/worker.ts'),
    import('./platform/http/serve.ts'),
  ]);
  const metrics = stack.use(createMetrics(db));
  ai.measureBy(metrics.models);
  metrics.models.countBreakersBy(ai.countBreakers);
  const leadership = stack.use(new Leadership({ url: platform.databaseUrl, name: 'periodic tasks', logger }));
  const retentions = [engineRetention, idempotencyRetention, ...products.map((product) => product.retention ?? {})];
  await platform.months.make(monthlyTables(retentions)).catch((error: unknown) => {
    // Until the partitions exist, rows go to the default partition. The periodic task tries again.
    logger.warn({ err: error }, 'the partitions of the next months could not be created');
  });
  const tasks = [
    ...engineTasks(platform),
    ...products.flatMap((product) => product.tasks ?? []),
    ...retentionTasks(platform, retentions),
    { name: 'rate limits', everyMs: 60_000, run: () => platform.rateLimiter.prune() },
  ];
  const periodicTasks = stack.use(new PeriodicTasks({ logger, leadership, tasks }));
  if (config.role !== 'api') {
    stack.use(replies.startReplying());
    stack.use(calls.keepTrunks((outcome) => metrics.trunks.count({ outcome })));
    stack.use(webhooks.startSending(config.http.shutdownMs / 2, (outcome) => metrics.webhooks.count({ outcome })));
    await startWorker(stack, platform, {
      ports: automations.enginePorts,
      wakeUps,
      intake,
      home: config.home,
      serves: config.role !== 'worker',
      worker: config.worker,
      shutdownMs: config.http.shutdownMs,
      skills,
      validateOutputs: config.http.validateResponses,
      onFinished: (status, seconds) => metrics.runs.observe({ status }, seconds),
    });
  }

  stack.use(await nodes.announce(config.role !== 'worker'));
  // HTTP server.
  let url: string | null = null;
  if (config.role !== 'worker') {
    const { builtFiles, keepAssets } = await import('./platform/http/pages/built-files.ts');
    try {
      keepAssets(config.home);
    } catch (error) {
      logger.warn({ part: 'pages', err: error }, 'tabs that were opened before an upgrade may have to be reloaded');
    }
    try {
      builtFiles();
    } catch (error) {
      logger.error({ part: 'pages' }, error instanceof Error ? error.message : String(error));
    }
    url = await serveHttp(stack, platform, config, {
      version,
      identity,
      devices: nodes.secrets,
      visitors: chat.visitors,
      products,
      metrics,
      checks: {
        database: (signal) => db.ping(signal),
        queue: (signal) => wakeUps.ping(signal),
        artifacts: (signal) => blobs.check(signal),
        pages: async () => builtFiles(),
      },
      // Without Redis, workers look for runs in PostgreSQL and each process applies rate limits alone. Artifacts
      // remain on their devices. The API needs no pages.
      optionalParts: ['artifacts', 'pages', ...(config.redisUrl === null ? [] : ['queue'])],
      bodyLimits,
      lingerLimits,
    });
  }
  if (isNew) logger.info({ workspace: demoWorkspace }, 'created the demo workspace');
  return { ...parts, ...ownedBy(stack), url, isNew, sweep: () => periodicTasks.runAll() };
}

/** Moves ownership of the started parts to the returned object. */
function ownedBy(stack: AsyncDisposableStack): AsyncDisposable {
  const owned = stack.move();
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
