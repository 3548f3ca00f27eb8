import type { ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import { matchesGlob } from '../../../../shared/glob.ts';
import { toStorableJson } from '../../../../shared/json.ts';
import { rejectOnAbort } from '../../../engine/index.ts';
import type { ReadOperation, SkillCatalog } from '../../../engine/skill.ts';
import type { Database } from '../../../platform/db/database.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import { addressesIn } from '../../../platform/inference/answer-filter.ts';
import type { Quotation } from '../../../platform/inference/untrusted-text.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { tokensOfQuoted, TokenBudget, withoutKeys } from '../prompt/index.ts';
import type { ApprovalRequest, ReplyActions } from './ports.ts';
import type { ReplyContext } from './reply-context.ts';
import { fill } from './tool-settings.ts';
import { checkInput, maxToolCalls, resolveTool, toolsTimeoutMs, describeTools } from './tool.ts';
import type { Tool } from './tool.ts';

/** A tool call that a model requests. */
export interface ToolCallRequest {
  tool: string;
  input: Record<string, unknown>;
}

/** Tokens of the prompt reserved for tool results. */
export const resultsTokens = 2_000;
const maxResultCharacters = 20_000;
/** Approval requests per conversation and day, because a visitor can cause them and a user must decide each one. */
const approvalRequestLimit = { limit: 5, windowSeconds: 86_400 };

export interface ReplyToolsDependencies {
  db: Database;
  skills: SkillCatalog;
  actions: ReplyActions;
  rateLimiter: RateLimiter;
  logger: Logger;
  /** Time limit of all calls for one answer. For tests. */
  timeoutMs?: number;
}

/** The tools of the AI agents of all workspaces. */
export class ReplyTools {
  readonly #deps: ReplyToolsDependencies;

  constructor(dependencies: ReplyToolsDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Returns the tools for one answer, by the current entitlements and policy of the workspace. Null without tools.
   * @param mayAct Whether to include tools that act, each of which requests an approval.
   */
  async open(
    tenantId: string,
    { settings, conversation }: Pick<ReplyContext, 'settings' | 'conversation'>,
    mayAct: boolean,
  ): Promise<ToolBox | null> {
    if (settings.tools.length === 0) return null;
    const { db, skills, actions, rateLimiter, ...rest } = this.#deps;
    const [entitlements, { approvalsRequiredFor }, visitors] = await db.read(tenantId, (tx) =>
      Promise.all([
        readEntitlements(tx, tenantId),
        actions.readPolicy(tx, tenantId),
        tx.query<{ external_id: string | null }>(
          'read_visitor_for_tools',
          'SELECT external_id FROM chat_visitors WHERE id = $1',
          [conversation.visitor_id],
        ),
      ]),
    );
    const scope = {
      'visitor.id': conversation.visitor_id,
      'visitor.externalId': visitors.rows[0]?.external_id ?? null,
      'conversation.id': conversation.id,
    };
    const tools = settings.tools.flatMap((setting) => {
      const fixed = fill(setting.fixed, scope);
      const tool = fixed === null ? null : resolveTool(setting, skills, fixed);
      if (tool === null || !tool.skill.requires.every((entitlement) => entitlements[entitlement])) return [];
      if (tool.reading === null) return mayAct ? [tool] : [];
      // A tool that reads must return while the answer is generated, so it cannot wait for an approval.
      return approvalsRequiredFor.some((pattern) => matchesGlob(pattern, tool.skill.id)) ? [] : [tool];
    });
    return tools.length === 0
      ? null
      : new ToolBox(tenantId, tools, {
          ...rest,
          mayRequestApproval: async () =>
            (await rateLimiter.take(`ai-asks:${conversation.id}`, approvalRequestLimit)).allowed,
        });
  }
}

export interface ToolBoxDependencies extends Pick<ReplyToolsDependencies, 'logger' | 'timeoutMs'> {
  /** Counts one approval request. Resolves to false if the limit is reached. */
  mayRequestApproval: () => Promise<boolean>;
}

/** The tools for one answer, with limits on the number of calls and their total time. */
export class ToolBox {
  readonly uses: ToolUse[] = [];
  /** Approvals to request when the answer is stored. */
  readonly approvalRequests: ApprovalRequest[] = [];
  /** Addresses in the results of tools with `links`. The answer may contain them. */
  readonly addresses = new Set<string>();
  readonly text: string;
  readonly #tenantId: string;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #logger: Logger;
  readonly #window = new TokenBudget(resultsTokens);
  readonly #mayRequestApproval: ToolBoxDependencies['mayRequestApproval'];
  /** Limits each answer to one approval request, so that the person who decides can review it. */
  #hasRequestedApproval = false;
  #remainingMs: number;

  constructor(
    tenantId: string,
    tools: readonly Tool[],
    { logger, mayRequestApproval, timeoutMs = toolsTimeoutMs }: ToolBoxDependencies,
  ) {
    this.#tenantId = tenantId;
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#logger = logger;
    this.#mayRequestApproval = mayRequestApproval;
    this.#remainingMs = timeoutMs;
    this.text = describeTools(tools);
  }

  get callsLeft(): number {
    return this.#remainingMs <= 0 ? 0 : maxToolCalls - this.uses.length;
  }

  /**
   * Runs the requested calls concurrently, up to the calls left.
   * @returns the results, as text for the model.
   * @throws the reason of the signal.
   */
  async call(requested: readonly ToolCallRequest[], quotation: Quotation, signal: AbortSignal): Promise<string> {
    const calls = requested.slice(0, this.callsLeft);
    const startedAt = performance.now();
    const timeout = AbortSignal.timeout(Math.ceil(Math.max(0, this.#remainingMs)));
    const anySignal = AbortSignal.any([signal, timeout]);
    const results = await Promise.all(calls.map((call) => this.#callOne(call, anySignal)));
    signal.throwIfAborted();
    this.#remainingMs = timeout.aborted ? 0 : this.#remainingMs - (performance.now() - startedAt);
    const lines = results.map(({ use, text, links }, index) => {
      this.uses.push(use);
      const label = this.#tools.get(use.name)?.name ?? 'a tool';
      if (text === null) return `${index + 1}. There is no such tool.`;
      const fullText = withoutKeys(text.slice(0, maxResultCharacters));
      const shown = this.#window.takeBeginning(fullText, tokensOfQuoted, 0.5);
      if (links) for (const address of addressesIn([shown])) this.addresses.add(address);
      const cut = shown.length < text.length ? '\n(The rest had no room.)' : '';
      return `${index + 1}. ${label}:\n${quotation.quote(`what ${label} says`, shown)}${cut}`;
    });
    if (requested.length > calls.length) lines.push(`Only ${maxToolCalls} calls are carried out; the rest was not.`);
    lines.push(
      this.callsLeft > 0
        ? `Now answer, or call again: ${this.callsLeft} calls are left.`
        : 'Now answer; no call is left.',
    );
    return lines.join('\n');
  }

  #takeApprovalRequest(): Promise<boolean> {
    this.#hasRequestedApproval = true;
    return this.#mayRequestApproval();
  }

  async #callOne(
    { tool: name, input: rawInput }: ToolCallRequest,
    signal: AbortSignal,
  ): Promise<{ use: ToolUse; text: string | null; links: boolean }> {
    const startedAt = performance.now();
    const toResult = (outcome: ToolUse['outcome'], text: string | null, links = false) => ({
      use: { name: text === null ? '' : name, ms: Math.round(performance.now() - startedAt), outcome },
      text,
      links,
    });
    const tool = this.#tools.get(name);
    if (tool === undefined) return toResult('unknown_tool', null);
    const checked = checkInput(tool, rawInput);
    if ('problem' in checked) return toResult('invalid_input', `It was not called: ${checked.problem}`);
    if (tool.reading === null) {
      const { id: skillId, title } = tool.skill;
      if (this.#hasRequestedApproval || !(await this.#takeApprovalRequest()))
        return toResult('failed', 'It was not asked for: enough was. Hand over where it can not wait.');
      this.approvalRequests.push({ skillId, title, input: checked.input });
      return toResult(
        'approval_asked',
        'Nothing has happened yet. A person of the business is asked to approve it as you answer, and may refuse. Say that, and never that it was done.',
      );
    }
    try {
      const text = await read(tool.reading, checked.parsed, this.#tenantId, signal);
      return toResult('answered', text, tool.links);
    } catch (error) {
      if (signal.aborted) return toResult('timeout', 'It took too long.');
      if (!(error instanceof AppError))
        this.#logger.warn(
          { err: error, tenantId: this.#tenantId, skillId: tool.skill.id },
          'a tool of the AI agent failed',
        );
      return toResult('failed', 'It failed; it says nothing about this.');
    }
  }
}

async function read(
  reading: ReadOperation,
  input: Record<string, unknown>,
  tenantId: string,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const { output } = await rejectOnAbort(reading.read(input, { tenantId, signal }), signal);
  return JSON.stringify(toStorableJson(output));
}
