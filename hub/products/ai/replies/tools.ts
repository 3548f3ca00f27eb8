import type { ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import { matchesGlob } from '../../../../shared/glob.ts';
import { toStorableJson } from '../../../../shared/json.ts';
import { untilAborted } from '../../../engine/index.ts';
import type { Reading, SkillCatalog } from '../../../engine/skill.ts';
import type { Database } from '../../../platform/db/database.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import { addressesIn } from '../../../platform/inference/answer-filter.ts';
import type { Quotation } from '../../../platform/inference/untrusted-text.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { tokensOfQuoted, TokenBudget, withoutKeys } from '../prompt/index.ts';
import type { Ask, ReplyActions } from './faces.ts';
import type { Situation } from './situation.ts';
import { fill } from './tool-settings.ts';
import { inputOf, mostToolCalls, toolOf, toolsMs, toolsText } from './tool.ts';
import type { Tool } from './tool.ts';

/** What a model wants called. */
export interface WantedCall {
  tool: string;
  input: Record<string, unknown>;
}

/** So much of what a model is shown is kept free for what tools say, in tokens. */
export const resultsTokens = 2_000;
const mostResultCharacters = 20_000;
/** What visitors have put to people costs these their time. */
const asksOfConversation = { limit: 5, windowSeconds: 86_400 };

export interface ReplyToolsDependencies {
  db: Database;
  skills: SkillCatalog;
  actions: ReplyActions;
  rateLimiter: RateLimiter;
  logger: Logger;
  /** How long the calls for one answer may take together, in milliseconds; for tests. */
  mostMs?: number;
}

/** The tools that workspaces gave to their AI agent. */
export class ReplyTools {
  readonly #deps: ReplyToolsDependencies;

  constructor(dependencies: ReplyToolsDependencies) {
    this.#deps = dependencies;
  }

  /**
   * The tools for one answer in a conversation, as the workspace stands now; null without any.
   * @param mayAct whether those are among them that make an approval.
   */
  async open(
    tenantId: string,
    { settings, conversation }: Pick<Situation, 'settings' | 'conversation'>,
    mayAct: boolean,
  ): Promise<ToolBox | null> {
    if (settings.tools.length === 0) return null;
    const { db, skills, actions, rateLimiter, ...rest } = this.#deps;
    const [entitlements, { approvalsRequiredFor }, visitors] = await db.read(tenantId, (tx) =>
      Promise.all([
        readEntitlements(tx, tenantId),
        actions.readPolicy(tx, tenantId),
        tx.query<{ external_id: string | null }>(
          'read_visitor_of_tools',
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
    const tools = settings.tools.flatMap((set) => {
      const fixed = fill(set.fixed, scope);
      const tool = fixed === null ? null : toolOf(set, skills, fixed);
      if (tool === null || !tool.skill.requires.every((entitlement) => entitlements[entitlement])) return [];
      if (tool.reading === null) return mayAct ? [tool] : [];
      // Nobody is there to approve what is read in the midst of an answer.
      return approvalsRequiredFor.some((pattern) => matchesGlob(pattern, tool.skill.id)) ? [] : [tool];
    });
    return tools.length === 0
      ? null
      : new ToolBox(tenantId, tools, {
          ...rest,
          mayAsk: async () => (await rateLimiter.take(`ai-asks:${conversation.id}`, asksOfConversation)).allowed,
        });
  }
}

export interface ToolBoxDependencies extends Pick<ReplyToolsDependencies, 'logger' | 'mostMs'> {
  /** Whether something more may be put to people; counts that it is. */
  mayAsk: () => Promise<boolean>;
}

/** The tools for one answer: it counts what was called, and how long that took. */
export class ToolBox {
  readonly uses: ToolUse[] = [];
  /** What is to be put to a person once the answer is given. */
  readonly asks: Ask[] = [];
  /** Addresses that an answer may name, of the tools whose results may be linked. */
  readonly addresses = new Set<string>();
  readonly text: string;
  readonly #tenantId: string;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #logger: Logger;
  readonly #room = new TokenBudget(resultsTokens);
  readonly #mayAsk: ToolBoxDependencies['mayAsk'];
  /** One thing for an answer is as much as a person can look at with it. */
  #hasAsked = false;
  #leftMs: number;

  constructor(tenantId: string, tools: readonly Tool[], { logger, mayAsk, mostMs = toolsMs }: ToolBoxDependencies) {
    this.#tenantId = tenantId;
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#logger = logger;
    this.#mayAsk = mayAsk;
    this.#leftMs = mostMs;
    this.text = toolsText(tools);
  }

  get callsLeft(): number {
    return this.#leftMs <= 0 ? 0 : mostToolCalls - this.uses.length;
  }

  /** Calls what is wanted, as far as there are calls left, all at once; answers what the model is told of it. @throws the signal's reason. */
  async call(wanted: readonly WantedCall[], quotation: Quotation, signal: AbortSignal): Promise<string> {
    const calls = wanted.slice(0, this.callsLeft);
    const startedAt = performance.now();
    const late = AbortSignal.timeout(Math.ceil(Math.max(0, this.#leftMs)));
    const either = AbortSignal.any([signal, late]);
    const results = await Promise.all(calls.map((call) => this.#callOne(call, either)));
    signal.throwIfAborted();
    this.#leftMs = late.aborted ? 0 : this.#leftMs - (performance.now() - startedAt);
    const told = results.map(({ use, said, links }, index) => {
      this.uses.push(use);
      const what = this.#tools.get(use.name)?.name ?? 'a tool';
      if (said === null) return `${index + 1}. There is no such tool.`;
      const whole = withoutKeys(said.slice(0, mostResultCharacters));
      const shown = this.#room.takeBeginning(whole, tokensOfQuoted, 0.5);
      if (links) for (const address of addressesIn([shown])) this.addresses.add(address);
      const cut = shown.length < said.length ? '\n(The rest had no room.)' : '';
      return `${index + 1}. ${what}:\n${quotation.quote(`what ${what} says`, shown)}${cut}`;
    });
    if (wanted.length > calls.length) told.push(`Only ${mostToolCalls} calls are carried out; the rest was not.`);
    told.push(
      this.callsLeft > 0
        ? `Now answer, or call again: ${this.callsLeft} calls are left.`
        : 'Now answer; no call is left.',
    );
    return told.join('\n');
  }

  #ask(): Promise<boolean> {
    this.#hasAsked = true;
    return this.#mayAsk();
  }

  async #callOne(
    { tool: name, input: given }: WantedCall,
    signal: AbortSignal,
  ): Promise<{ use: ToolUse; said: string | null; links: boolean }> {
    const startedAt = performance.now();
    const ended = (outcome: ToolUse['outcome'], said: string | null, links = false) => ({
      use: { name: said === null ? '' : name, ms: Math.round(performance.now() - startedAt), outcome },
      said,
      links,
    });
    const tool = this.#tools.get(name);
    if (tool === undefined) return ended('unknown_tool', null);
    const checked = inputOf(tool, given);
    if ('problem' in checked) return ended('invalid_input', `It was not called: ${checked.problem}`);
    if (tool.reading === null) {
      const { id: skillId, title } = tool.skill;
      if (this.#hasAsked || !(await this.#ask()))
        return ended('failed', 'It was not asked for: enough was. Hand over where it can not wait.');
      this.asks.push({ skillId, title, input: checked.input });
      return ended(
        'approval_asked',
        'Nothing has happened yet. A person of the business is asked to approve it as you answer, and may refuse. Say that, and never that it was done.',
      );
    }
    try {
      const said = await read(tool.reading, checked.parsed, this.#tenantId, signal);
      return ended('answered', said, tool.links);
    } catch (error) {
      if (signal.aborted) return ended('timeout', 'It took too long.');
      if (!(error instanceof AppError))
        this.#logger.warn(
          { err: error, tenantId: this.#tenantId, skillId: tool.skill.id },
          'a tool of the AI agent failed',
        );
      return ended('failed', 'It failed; it says nothing about this.');
    }
  }
}

async function read(
  reading: Reading,
  input: Record<string, unknown>,
  tenantId: string,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const { output } = await untilAborted(reading.read(input, { tenantId, signal }), signal);
  return JSON.stringify(toStorableJson(output));
}
