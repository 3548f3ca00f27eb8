import { z } from 'zod';
import { aiActions } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { isStorableText } from '../../../../shared/json.ts';
import type { ModelAnswer } from '../../../engine/index.ts';
import { plainText } from '../../../platform/inference/untrusted-text.ts';
import type { ReplyModels } from './faces.ts';
import type { Prompt } from './prompt.ts';
import { ReplyReader } from './reply-reader.ts';

const answerSchema = z.object({
  reply: z.string().max(40_000).default(''),
  action: z.enum(aiActions),
  reason: z.string().default(''),
  sources: z
    .array(z.union([z.string(), z.number()]).transform(String))
    .max(100)
    .default([]),
});
export type AiAnswer = z.output<typeof answerSchema>;

export interface AskedAnswer {
  /** Null where it was rubbish twice. */
  answer: AiAnswer | null;
  usage: { inputTokens: number; outputTokens: number };
}

/** Hears an answer while it comes. */
export interface AnswerListener {
  heard(reader: ReplyReader): void;
  /** What was heard was rubbish, and is asked for anew. */
  restarted(): void;
}

const maxOutputTokens = 1_024;
const repair =
  'That was not the JSON object that was asked for. Answer again with that object alone: {"action": …, "reason": …, "sources": […], "reply": …}.';

/**
 * Asks for an answer of the shape; one that has another is repaired once.
 * @throws AppError where no model answers; the signal's reason.
 */
export async function askModel(
  models: ReplyModels,
  tenantId: string,
  { instructions, messages }: Prompt,
  signal: AbortSignal,
  listener: AnswerListener | null = null,
): Promise<AskedAnswer> {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const turns = [...messages];
  for (let tries = 0; tries < 2; tries += 1) {
    const reader = new ReplyReader();
    const given = await streamed(
      models.stream({ tenantId, instructions, messages: turns, maxOutputTokens, signal }),
      (piece) => {
        reader.push(piece);
        listener?.heard(reader);
      },
    );
    usage.inputTokens += given.usage.inputTokens;
    usage.outputTokens += given.usage.outputTokens;
    const answer = parseAnswer(given.text);
    if (answer !== null) return { answer, usage };
    listener?.restarted();
    turns.push(
      { role: 'assistant', content: plainText(given.text.slice(0, 4_000)) || '…' },
      { role: 'user', content: repair },
    );
  }
  return { answer: null, usage };
}

async function streamed(
  stream: AsyncGenerator<string, ModelAnswer>,
  heard: (piece: string) => void,
): Promise<ModelAnswer> {
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return step.value;
    heard(step.value);
  }
}

/** An answer as it was asked for, also where words or a fence stand around it; null for any other. */
export function parseAnswer(text: string): AiAnswer | null {
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  if (from === -1 || to < from) return null;
  let value: unknown;
  try {
    value = JSON.parse(text.slice(from, to + 1));
  } catch {
    return null;
  }
  const parsed = answerSchema.safeParse(value);
  if (!parsed.success || !isStorableText(parsed.data.reply)) return null;
  const speaks = parsed.data.action === 'answer' || parsed.data.action === 'clarify';
  return speaks && parsed.data.reply.trim() === '' ? null : parsed.data;
}
