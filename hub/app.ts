import { createRequire } from 'node:module';
import type { Config } from './config.ts';
import type { PromisedJob } from './engine/index.ts';
import { openRunQueue } from './engine/run-queue.ts';
import { SkillRegistry } from './engine/skill-catalog.ts';
import { engineRetention, engineTasks } from './engine/upkeep.ts';
import { adviseOnDatabase } from './platform/db/database-advice.ts';
import type { DatabaseAdvice } from './platform/db/database-advice.ts';
import type { Database } from './platform/db/database.ts';
import { afterCommit } from './platform/db/joined-transaction.ts';
import { Leadership } from './platform/db/leadership.ts';
import { monthlyTables, retentionTasks } from './platform/db/row-retention.ts';
import type { BodyLimits } from './platform/http/routing/body-timeout.ts';
import { idempotencyRetention } from './platform/http/routing/idempotency.ts';
import type { Logger } from './platform/observability/logger.ts';
import { openPlatform } from './platform/open-platform.ts';
import { PeriodicTasks } from './platform/process/periodic-tasks.ts';
import type { Product } from './product.ts';
import { createAi, createReplies } from './products/ai/index.ts';
import { createAutomations } from './products/automations/index.ts';
import type { HubPacks, Workflows } from './products/automations/index.ts';
import { createCalls } from './products/calls/index.ts';
import type { CallsProduct } from './products/calls/index.ts';
import { createChat } from './products/chat/index.ts';
import type { Chat, ChatEvents } from './products/chat/index.ts';
import { createCore } from './products/core/index.ts';
import type { Identity, LimitedKind } from './products/core/index.ts';
import { createMarketing } from './products/marketing/index.ts';
import { createNodes, Reachability } from './products/nodes/index.ts';
import type { Nodes } from './products/nodes/index.ts';
import { createWebhooks } from './products/webhooks/index.ts';

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
  hubPacks: HubPacks;
  calls: Pick<CallsProduct, 'importCsv' | 'reconcile'>;
  chat: Pick<Chat, 'conversations' | 'inbox' | 'settings'>;
  /** Through which Live Chat tells what happened. */
  chatEvents: ChatEvents;
  /** For whoever tells events: the hub's own database. */
  db: Database;
  /** How many connections are in use and allowed, and what the operator should change in the database. */
  adviseOnDatabase(settings: Pick<Config, 'database' | 'redisUrl'>): Promise<DatabaseAdvice>;
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

/**
 * Puts a hub together and starts it, as its role says. Whatever it started it ends when it is disposed, in the reverse order; if the
 * start fails, at once.
 * @throws AppError with one line when something that it needs is not to be had.
 */
export async function createApp(config: Config, options: AppOptions): Promise<App> {
  const { logger, bodyLimits, workspaceLimits, serves = true } = options;
  await using stack = new AsyncDisposableStack();

  // What all stand on.
  const platform = await openPlatform(stack, config, options);
  const { db, blobs } = platform;
  const runQueue = serves ? await openRunQueue(stack, platform, config.redisUrl) : null;
  const dispatch = (jobs: PromisedJob[]) => afterCommit(() => runQueue?.outbox.offer(jobs));
  const skills = new SkillRegistry();

  // The products.
  const core = createCore(platform, config, workspaceLimits);
  const { identity, limits } = core;
  const intake = runQueue?.intake ?? null;
  const nodes = createNodes(platform, config, { limits, dispatch, intake });
  const ai = createAi(stack, platform, config);
  const calls = createCalls(stack, platform, config, { limits, events: core.events, identity });
  const chat = createChat(stack, platform, config, { limits });
  // Products that subscribe to chat events are created in the order in which their subscribers acquire locks: automations, webhooks, AI replies.
  const automations = createAutomations(platform, config, {
    limits,
    nodes,
    ai: ai.ai,
    chat,
    skills,
    dispatch,
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
  if (runQueue === null) return { ...parts, ...ownedBy(stack), url: null, isNew: false, sweep: async () => undefined };
  for (const warning of (await adviseOn(config)).warnings) logger.warn(warning);
  const isNew = await identity.ensureDemoWorkspace(demoWorkspace);

  // What runs; not loaded by commands, which run and serve nothing.
  const [{ createMetrics }, { startWorker }, { serveHttp }] = await Promise.all([
    import('./platform/observability/metrics.ts'),
    import('./engine/worker.ts'),
    import('./platform/http/serve.ts'),
  ]);
  const metrics = stack.use(createMetrics(db));
  ai.measureBy(metrics.models);
  metrics.models.countBreakersBy(ai.countBreakers);
  const leadership = stack.use(new Leadership({ url: platform.databaseUrl, name: 'periodic tasks', logger }));
  const retentions = [engineRetention, idempotencyRetention, ...products.map((product) => product.retention ?? {})];
  await platform.months.make(monthlyTables(retentions)).catch((error: unknown) => {
    // Until then the default part takes what is written, and the sweep tries again.
    logger.warn({ err: error }, 'the parts of the next months could not be made');
  });
  const tasks = [
    ...engineTasks(platform, runQueue.outbox, dispatch),
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
      runQueue,
      home: config.home,
      worker: config.worker,
      shutdownMs: config.http.shutdownMs,
      skills,
      validateOutputs: config.http.validateResponses,
      dispatch,
      onFinished: (status, seconds) => metrics.runs.observe({ status }, seconds),
    });
  }

  // What answers.
  let url: string | null = null;
  if (config.role !== 'worker') {
    stack.use(await Reachability.announce(db, logger));
    const { builtFiles } = await import('./platform/http/pages/built-files.ts');
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
        queue: (signal) => runQueue.queue.ping(signal),
        artifacts: (signal) => blobs.check(signal),
        pages: async () => builtFiles(),
      },
      // Redis only wakes workers and counts; PostgreSQL's sweep and each process for itself do that too. Artefacts wait at their devices. The API needs no pages.
      optionalParts: ['artifacts', 'pages', ...(config.redisUrl === null ? [] : ['queue'])],
      bodyLimits,
    });
  }
  if (isNew) logger.info({ workspace: demoWorkspace }, 'made the demo workspace');
  return { ...parts, ...ownedBy(stack), url, isNew, sweep: () => periodicTasks.runAll() };
}

/** Hands all that was started on to whoever disposes the hub. */
function ownedBy(stack: AsyncDisposableStack): AsyncDisposable {
  const owned = stack.move();
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
