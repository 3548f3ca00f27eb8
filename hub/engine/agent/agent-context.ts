import { renderTemplates } from '../../../shared/template.ts';
import { isUuid } from '../../../shared/uuid.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { readEntitlements } from '../../platform/db/tenancy.ts';
import { Quotation } from '../../platform/inference/untrusted-text.ts';
import { StepFailure } from '../failure.ts';
import type { Conversation } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import type { Skill } from '../skill.ts';
import { buildTemplateScope } from '../steps/scope.ts';
import { readHistory } from './agent-conversation.ts';
import { allowsSkill, toolsText } from './agent-protocol.ts';
import type { AgentStep, ModelMessage } from './agent-state.ts';

/** The instructions, tools and conversation of an agent step, read from the workspace. */
export interface AgentContext {
  instructions: string;
  /** Id of the model of the workspace that is called first. Null for none. */
  model: string | null;
  tools: Skill[];
  /** The conversation of the step. Null if there is none. */
  session: Conversation | null;
  /** Earlier messages of the conversation. */
  history: ModelMessage[];
  /** Authors of the instructions and of the tool selection. */
  authors: string[];
}

/** Reads the context of an agent step. It is read again each time the step continues, so changes of the workspace apply. */
export async function readAgentContext(
  tx: Transaction,
  deps: EngineDependencies,
  ctx: RunContext,
  index: number,
  step: AgentStep,
): Promise<AgentContext> {
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
  // An agent can call only skills that the workspace is entitled to, like a skill step.
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
      : ctx.working(index, () => renderTemplates(template, buildTemplateScope(ctx, index)));
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
    summary === '' ? '' : quoteSummary(summary),
    toolsText(tools),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
  const authors = await deps.agents.readAuthors(tx, tenantId, agentId ?? null, profileId);
  return { instructions, model: agent?.model ?? null, tools, session, history, authors };
}

/** Quotes the summary as untrusted text, because it summarises untrusted messages. */
function quoteSummary(summary: string): string {
  const quotation = new Quotation();
  return `${quotation.rule}\n\n${quotation.quote('what you remember of the earlier part of this conversation', summary)}`;
}
