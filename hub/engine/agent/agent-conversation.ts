import { AppError } from '../../../shared/errors.ts';
import { toStorableText } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { Quotation } from '../../platform/inference/untrusted-text.ts';
import type { Conversation } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';
import type { ModelMessage } from './agent-state.ts';

/** Number of messages from which the older messages of a conversation are summarised. */
const summariseAfterMessages = 40;
/** Number of newest messages that are then kept unsummarised. */
const keptMessages = 20;
const maxHistoryCharacters = 60_000;
/** Characters of each message that are summarised. */
const maxSummarisedCharacters = 2_000;

/** A summary of a conversation up to one of its messages. */
interface Summary {
  text: string;
  throughId: string;
}

/**
 * Reads the newest messages of a conversation that its summary does not cover, at most `maxHistoryCharacters`. Excludes the
 * messages of this run.
 */
export async function readHistory(
  tx: Transaction,
  deps: EngineDependencies,
  ctx: RunContext,
  session: Conversation,
): Promise<ModelMessage[]> {
  const messages = await deps.agents.conversations.readNewest(tx, session, {
    exceptRunId: ctx.runId,
    maxCharacters: maxHistoryCharacters,
  });
  return messages.map(({ role, content }) => ({ role: role === 'assistant' ? 'assistant' : 'user', content }));
}

/** Summarises the older messages of a long conversation. Returns null if the conversation is short, or if no model answers. */
export async function summarise(
  deps: EngineDependencies,
  ctx: RunContext,
  model: string | null,
  session: Conversation,
): Promise<Summary | null> {
  const { tenant_id: tenantId } = ctx.run;
  const messages = await ctx.read((tx) =>
    deps.agents.conversations.readOldest(tx, session, { maxCharacters: maxSummarisedCharacters }),
  );
  if (messages.length < summariseAfterMessages) return null;
  const older = messages.slice(0, messages.length - keptMessages);
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

/** Appends the prompt and the answer of an agent to its conversation, and stores the summary of older messages. */
export async function writeAnswer(
  tx: Transaction,
  deps: EngineDependencies,
  ctx: RunContext,
  session: Conversation,
  { prompt, final, summary }: { prompt: string; final: string; summary: Summary | null },
): Promise<void> {
  const { tenant_id: tenantId } = ctx.run;
  // A channel message that started the run is already in the conversation.
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
