import { AppError } from '../../../shared/errors.ts';
import { callOf, describeSkills, dryRunSteps, isKnownPattern, starterOf, validateSteps } from '../../engine/index.ts';
import type { EnginePorts, RunIntake } from '../../engine/index.ts';
import type { SkillCatalog } from '../../engine/skill.ts';
import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Route } from '../../platform/http/routing/implement.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { Ai } from '../ai/models/index.ts';
import type { Chat } from '../chat/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import type { NodesProduct } from '../nodes/index.ts';
import { Agents, findAgent, findToolProfile, readAuthors, ToolProfiles } from './agents/index.ts';
import { agentRoutes } from './agents/routes.ts';
import { ApprovalLinks, approvalPort, ApprovalPushes, Approvals, expireRunApprovals } from './approvals/index.ts';
import { approvalPages } from './approvals/pages.ts';
import { approvalRoutes } from './approvals/routes.ts';
import { Channels } from './channels/index.ts';
import { channelRoutes } from './channels/routes.ts';
import { channelSkills } from './channels/skills.ts';
import { Deliveries } from './deliveries/index.ts';
import { webhookSkills } from './deliveries/skills.ts';
import { Email } from './email/index.ts';
import { emailSkills } from './email/skills.ts';
import { growthRoutes } from './growth/routes.ts';
import { Insight } from './insight/index.ts';
import { insightRoutes } from './insight/routes.ts';
import { insightSkills } from './insight/skills.ts';
import { Logs } from './logs/index.ts';
import { logRoutes } from './logs/routes.ts';
import { logSkills } from './logs/skills.ts';
import { Memory } from './memory/index.ts';
import { memoryRoutes } from './memory/routes.ts';
import { memorySkills } from './memory/skills.ts';
import { HubPacks, Packs } from './packs/index.ts';
import { packRoutes } from './packs/routes.ts';
import { Policies, readErrorWorkflowAuthor, readPolicy } from './policies/index.ts';
import { policyRoutes } from './policies/routes.ts';
import { noteErased, RunErasure } from './runs/erasure.ts';
import { Runs } from './runs/index.ts';
import { RunRetention } from './runs/retention.ts';
import { flowRoutes, runRoutes } from './runs/routes.ts';
import { Schedules } from './schedules/index.ts';
import { Search } from './search/index.ts';
import { searchRoutes } from './search/routes.ts';
import { Sequences } from './sequences/index.ts';
import { sequenceRoutes } from './sequences/routes.ts';
import { conversationPort, Sessions } from './sessions/index.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { ApprovedSkills, Skills } from './skills/index.ts';
import { skillRoutes } from './skills/routes.ts';
import { Workflows } from './workflows/index.ts';
import { deletedWorkflowRoutes, hookRoutes, workflowRoutes, workflowSummaryRoutes } from './workflows/routes.ts';
import { workflowSkills } from './workflows/skills.ts';

export interface AutomationsSettings {
  http: { publicUrl: string | null };
  runs: { maxQueuedPerWorkspace: number };
  nodes: { heartbeatSeconds: number };
  retention: { runs: number; logs: number; messages: number; sessionMessages: number };
  ai: object | null;
}

export interface AutomationsNeeds {
  limits: WorkspaceLimits;
  nodes: NodesProduct;
  ai: Ai;
  chat: Pick<Chat, 'events' | 'channelConversations'>;
  /** Every skill of the hub, including skills of products that are created later. */
  skills: SkillCatalog;
  /** Accepts runs in batches; null in a process that runs no worker. */
  intake: RunIntake | null;
}

/** How long the response to a rejection waits for its run to end, in seconds. */
const settleSeconds = 3;

export interface Automations extends Product {
  workflows: Workflows;
  hubPacks: HubPacks;
  enginePorts: EnginePorts;
  /** Calls of skills that a person must approve first. */
  approvedSkills: ApprovedSkills;
}

export function createAutomations(
  { db, months, events, live, cursors, secrets, egress, blobs, mailer, push, answerMemory, logger, tracing }: Platform,
  settings: AutomationsSettings,
  {
    limits,
    nodes: { nodes, commands, port: nodePort, routes: nodeRoutes = [] },
    ai,
    chat,
    skills,
    intake,
  }: AutomationsNeeds,
): Automations {
  const checkSteps: ConstructorParameters<typeof Workflows>[0]['validateSteps'] = (steps, entitlements) =>
    validateSteps(steps, skills, entitlements);
  const isKnownSkill = (pattern: string) => isKnownPattern(skills, pattern);
  const runs = new Runs({
    db,
    events,
    live,
    cursors,
    tracing,
    answerMemory,
    heartbeatSeconds: settings.nodes.heartbeatSeconds,
    maxQueued: settings.runs.maxQueuedPerWorkspace,
    onCancel: async (tx, _tenantId, runIds) => {
      await expireRunApprovals(tx, runIds);
      await commands.withdraw(tx, runIds);
    },
  });
  const workflows = new Workflows({
    db,
    cursors,
    answerMemory,
    secrets,
    runs,
    logger,
    limits,
    intake,
    validateSteps: checkSteps,
    dryRun: async (tx, { tenantId, id, steps }, input) =>
      dryRunSteps(
        steps,
        skills,
        await readPolicy(tx, tenantId),
        { workflowId: id, ...input },
        async (selection, command) => {
          try {
            const nodeId = await nodePort.select(tx, { tenantId, runId: null, command, selection });
            await nodePort.assertUsable(tx, tenantId, nodeId, command);
            return null;
          } catch (error) {
            if (error instanceof AppError) return error.message;
            throw error;
          }
        },
      ),
  });
  const email = new Email({ db, mailer });
  const channels = new Channels({
    db,
    cursors,
    secrets,
    egress,
    email,
    runs,
    workflows,
    limits,
    logger,
    conversations: chat.channelConversations,
  });
  chat.events.subscribe((tx, event) => workflows.follow(tx, event));
  chat.events.subscribe((tx, event) => channels.follow(tx, event));
  chat.events.onErase(noteErased);
  const insight = new Insight({
    db,
    heartbeatSeconds: settings.nodes.heartbeatSeconds,
    hasOwnModel: settings.ai !== null,
  });
  const memory = new Memory({ db, cursors, answerMemory });
  const approvals = new Approvals({
    db,
    cursors,
    answerMemory,
    untilSettled: (tenantId, runId) => runs.reader.get(tenantId, runId, { waitSeconds: settleSeconds }),
  });
  const approvalLinks = new ApprovalLinks({
    db,
    approvals,
    email,
    logger,
    publicUrl: settings.http.publicUrl,
  });
  const approvalPushes = new ApprovalPushes({ db, push, logger });
  const agents = new Agents({ db, cursors, limits });
  const toolProfiles = new ToolProfiles({ db, cursors, limits, isKnownSkill });
  const policies = new Policies({ db, isKnownSkill });
  const sequences = new Sequences({ db, cursors, answerMemory, workflows, runs, limits });
  const sessions = new Sessions({ db, cursors, limits });
  const logs = new Logs({ db, cursors, live });
  const schedules = new Schedules({ db, logger, runs, intake, validateSteps: checkSteps });
  const packRules = { skills: () => describeSkills(skills), validateSteps: checkSteps, callOf };
  const packs = new Packs({
    db,
    answerMemory,
    workflows,
    limits,
    rules: packRules,
    sdkSkills: () => describeSkills(skills),
  });
  const hubPacks = new HubPacks({ db, cursors, answerMemory, rules: packRules });
  const routes: Route[] = [
    ...workflowRoutes(workflows),
    ...workflowSummaryRoutes(workflows),
    ...deletedWorkflowRoutes(workflows),
    ...sequenceRoutes(sequences),
    ...runRoutes(runs),
    ...flowRoutes(runs),
    ...hookRoutes(workflows),
    ...approvalRoutes(approvals),
    ...policyRoutes(policies),
    ...agentRoutes(agents, toolProfiles),
    ...sessionRoutes(sessions),
    ...memoryRoutes(memory),
    ...channelRoutes(channels),
    ...logRoutes(logs),
    ...skillRoutes(new Skills({ db, skills, runs, workflows, readPolicy: (tenantId) => policies.get(tenantId) })),
    ...packRoutes(packs, hubPacks),
    ...insightRoutes(insight),
    ...searchRoutes(new Search({ db })),
  ];
  const runErasure = new RunErasure({ db, blobs, runs });
  const runRetention = new RunRetention({ db, months, blobs, logger, days: settings.retention.runs });
  return {
    workflows,
    hubPacks,
    approvedSkills: new ApprovedSkills({ skills, workflows }),
    enginePorts: {
      approvals: approvalPort,
      nodes: nodePort,
      agents: {
        findAgent,
        readAuthors,
        findToolProfile,
        generate: (request) => ai.generate(request),
        conversations: conversationPort,
      },
      readPolicy,
      startChild: async (tx, { tenantId, workflowId, ...request }) => {
        const chosenBy = request.trigger.type === 'error' ? await readErrorWorkflowAuthor(tx, tenantId) : null;
        return workflows.startWithin(tx, tenantId, workflowId, {
          ...request,
          authoredBy: [...request.authoredBy, ...starterOf(chosenBy)],
          // A step chose the payload of a child run. The engine chose the payload of an error workflow.
          ...(request.parentRunId === undefined ? {} : { payloadPath: 'input.payload' }),
        });
      },
    },
    routes: [
      ...routes,
      ...growthRoutes({ runs, agents, toolProfiles, approvals, approvalLinks, sessions, channels, nodes, insight }, [
        ...routes,
        ...nodeRoutes,
      ]),
    ],
    pages: approvalPages(approvalLinks),
    skills: [
      ...logSkills(),
      ...emailSkills(email),
      ...channelSkills(channels),
      ...memorySkills(memory),
      ...webhookSkills(new Deliveries({ db, egress })),
      ...workflowSkills(),
      ...insightSkills(insight),
    ],
    tasks: [
      { name: 'approvals', everyMs: 1_000, run: (stopping) => approvals.settleExpired(stopping) },
      { name: 'approval mails', everyMs: 2_000, run: () => approvalLinks.mailNew() },
      { name: 'approval notifications', everyMs: 2_000, run: (stopping) => approvalPushes.sendDue(stopping) },
      { name: 'schedules', everyMs: 500, run: () => schedules.fireDue() },
      { name: 'erasure of runs', everyMs: 2_000, run: (stopping) => runErasure.sweep(stopping) },
      { name: 'retention of runs', everyMs: 60_000, run: (stopping) => runRetention.prune(stopping) },
    ],
    retention: automationsRetention(settings.retention),
  };
}

export const automationsRetention = (
  days: Pick<AutomationsSettings['retention'], 'logs' | 'messages' | 'sessionMessages'>,
): RowRetention => ({
  aged: [
    { table: 'messages', days: days.messages },
    { table: 'session_messages', days: days.sessionMessages },
  ],
  monthly: [{ table: 'run_logs', key: 'id', days: days.logs }],
  expiring: [
    { table: 'hook_keys' },
    { table: 'channel_receipts' },
    { table: 'memory_entries' },
    { table: 'schedule_fires', column: 'created_at', days: 35 },
  ],
});
