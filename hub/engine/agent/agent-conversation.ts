import { AppError } from '../../../shared/errors.ts';
import { toStorableText } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { Quotation } from '../../platform/inference/untrusted-text.ts';
import type { Conversation } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import type { SaidMessage } from './agent-state.ts';

/** Messages that a conversation keeps word for word before the older ones are summed up. */
const summariseAfterMessages = 40;
/** How many stay word for word then. */
const keptMessages = 20;
const maxHistoryCharacters = 60_000;
/** Characters of each message that a summary is made from. */
const maxSummarisedCharacters = 2_000;

/** What stands for a conversation up to one of its messages. */
interface Summary {
  text: string;
  throughId: string;
}

/** The newest part of a conversation, as far as it is not summed up and a model may be given it; without what this run said. */
export async function readHistory(
  tx: Transaction,
  deps: EngineDependencies,
  ctx: RunContext,
  session: Conversation,
): Promise<SaidMessage[]> {
  const messages = await deps.agents.conversations.readNewest(tx, session, {
    exceptRunId: ctx.runId,
    maxCharacters: maxHistoryCharacters,
  });
  return messages.map(({ role, content }) => ({ role: role === 'assistant' ? 'assistant' : 'user', content }));
}

/** Sums up the older part of a long transcript; null when it is short, or no model answers now. */
export async function summarise(
  deps: EngineDependencies,
  ctx: RunContext,
  model: string | null,
  session: Conversation,
): Promise<Summary | null> {
  const { tenant_id: tenantId } = ctx.run;
  const said = await ctx.read((tx) =>
    deps.agents.conversations.readOldest(tx, session, { maxCharacters: maxSummarisedCharacters }),
  );
  if (said.length < summariseAfterMessages) return null;
  const older = said.slice(0, said.length - keptMessages);
  const lines = older.map(({ role, content }) => `${role}: ${content}`).join('\n');
  const quotation = new Quotation();
  try {
    const { text } = await ctx.slot.outside(() =>
      deps.agents.generate({
        tenantId,
        preferredModel: model,
        instructions: `Sum up a conversation for yourself: facts, decisions, open questions, what people like. At most 300 words.\n\n${quotation.rule}`,
        messages: [
          {
            role: 'user',
            content: [
              ...(session.memorySummary === '' ? [] : [quotation.quote('summary so far', session.memorySummary)]),
              quotation.quote('conversation', lines),
            ].join('\n\n'),
          },
        ],
        signal: ctx.signal,
      }),
    );
    return { text: toStorableText(text).slice(0, 10_000), throughId: (older.at(-1) as { id: string }).id };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    deps.logger.warn(
      { err: error, sessionId: session.id },
      'a transcript could not be summed up; it is tried again with the next message',
    );
    return null;
  }
}

/** Writes what an agent was asked and what it answered into its conversation, and the summary of what came before. */
export async function writeAnswer(
  tx: Transaction,
  deps: EngineDependencies,
  ctx: RunContext,
  session: Conversation,
  { prompt, final, summary }: { prompt: string; final: string; summary: Summary | null },
): Promise<void> {
  const { tenant_id: tenantId } = ctx.run;
  // A message of a channel stands in the transcript already.
  if (ctx.run.trigger['sessionId'] !== session.id)
    await deps.agents.conversations.append(tx, tenantId, session.id, {
      role: 'user',
      content: prompt.slice(0, 50_000),
      runId: ctx.runId,
    });
  await deps.agents.conversations.append(tx, tenantId, session.id, {
    role: 'assistant',
    content: final.slice(0, 50_000),
    runId: ctx.runId,
  });
  if (summary !== null) await deps.agents.conversations.writeSummary(tx, session, summary.text, summary.throughId);
}
