import { renderTemplates } from '../../../shared/template.ts';
import { isUuid } from '../../../shared/uuid.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { readEntitlements } from '../../platform/db/tenancy.ts';
import { Quotation } from '../../platform/inference/untrusted-text.ts';
import { StepFailure } from '../failure.ts';
import type { Conversation } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import type { Skill } from '../skill.ts';
import { scopeOf } from '../steps/scope.ts';
import { readHistory } from './agent-conversation.ts';
import { allowsSkill, toolsText } from './agent-protocol.ts';
import type { AgentStep, SaidMessage } from './agent-state.ts';

/** What an agent goes by. */
export interface Briefing {
  instructions: string;
  /** Id of a model of the workspace that is tried first; null for none. */
  model: string | null;
  tools: Skill[];
  /** The conversation that it takes part in, if there is one. */
  session: Conversation | null;
  /** What was said there before. */
  history: SaidMessage[];
  /** Who wrote the instructions and chose the tools. */
  authors: string[];
}

/** What the step reads from the workspace each time it goes on: who it is, what it may do, what was said before. */
export async function readBriefing(
  tx: Transaction,
  deps: EngineDependencies,
  ctx: RunContext,
  index: number,
  step: AgentStep,
): Promise<Briefing> {
  const { tenant_id: tenantId, trigger } = ctx.run;
  const { agentId, toolProfileId } = step;
  const agent = agentId === undefined ? null : await deps.agents.findAgent(tx, tenantId, agentId);
  if (agentId !== undefined && agent === null)
    throw new StepFailure('unknown_agent', `There is no agent ${agentId} any more.`, { retryable: false });
  const profileId = toolProfileId ?? agent?.toolProfileId ?? null;
  const profile = profileId === null ? null : await deps.agents.findToolProfile(tx, tenantId, profileId);
  if (profileId !== null && profile === null)
    throw new StepFailure('unknown_tool_profile', `There is no tool profile ${profileId} any more.`, {
      retryable: false,
    });
  // What a step of its own may not call, an agent may not either.
  const entitlements = await readEntitlements(tx, tenantId);
  const tools =
    profile === null
      ? []
      : deps.skills
          .list()
          .filter(
            (skill) =>
              allowsSkill(profile, skill.id) && skill.requires.every((entitlement) => entitlements[entitlement]),
          );
  const policy = await deps.readPolicy(tx, tenantId);
  const { sessionId: template } = step;
  const sessionId =
    template === undefined
      ? trigger['sessionId']
      : ctx.working(index, () => renderTemplates(template, scopeOf(ctx, index)));
  let session: Conversation | null = null;
  if (typeof sessionId === 'string' && sessionId !== '') {
    session = isUuid(sessionId) ? await deps.agents.conversations.find(tx, tenantId, sessionId) : null;
    if (session === null)
      throw new StepFailure('unknown_session', `There is no session ${sessionId.slice(0, 100)} in this workspace.`, {
        retryable: false,
      });
  }
  const history = session === null ? [] : await readHistory(tx, deps, ctx, session);
  const summary = session?.memorySummary ?? '';
  const instructions = [
    agent?.systemPrompt ?? 'You are a helpful agent of an automation platform.',
    policy.standingOrders === ''
      ? ''
      : `Standing orders of this workspace, which come before everything else:\n${policy.standingOrders}`,
    summary === '' ? '' : recalled(summary),
    toolsText(tools),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
  const authors = await deps.agents.readAuthors(tx, tenantId, agentId ?? null, profileId);
  return { instructions, model: agent?.model ?? null, tools, session, history, authors };
}

/** A summary was made of what others said, so it is no more to be believed than they are. */
function recalled(summary: string): string {
  const quotation = new Quotation();
  return `${quotation.rule}\n\n${quotation.quote('what you remember of the earlier part of this conversation', summary)}`;
}
