import { z } from 'zod';
import { aiActions } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { isStorableText } from '../../../../shared/json.ts';
import type { ModelAnswer } from '../../../engine/index.ts';
import { plainText } from '../../../platform/inference/untrusted-text.ts';
import type { ReplyModels } from './ports.ts';
import type { Prompt } from './prompt.ts';
import { ReplyReader } from './reply-reader.ts';
import type { ToolBox, ToolCallRequest } from './tools.ts';

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

const callsSchema = z.object({
  action: z.literal('call'),
  calls: z
    .array(z.object({ tool: z.string().max(200), input: z.record(z.string(), z.unknown()).default({}) }))
    .min(1)
    .max(20),
});

export interface AnswerResult {
  /** Null where it was rubbish twice. */
  answer: AiAnswer | null;
  usage: { inputTokens: number; outputTokens: number };
}

/** Hears an answer while it comes. */
export interface AnswerListener {
  onProgress(reader: ReplyReader): void;
  /** What was heard was rubbish, and is asked for anew. */
  onRestart(): void;
}

const maxOutputTokens = 1_024;
const repairPrompt =
  'That was not the JSON object that was asked for. Answer again with that object alone: {"action": …, "reason": …, "sources": […], "reply": …}.';

/** Of calls a model is shown again so many characters. */
const maxQuotedCallCharacters = 1_000;

/**
 * Asks for an answer of the shape; one that has another is repaired once. Calls of tools are carried out on the way, as far as there are any left.
 * @throws AppError where no model answers; the signal's reason.
 */
export async function requestAnswer(
  models: ReplyModels,
  tenantId: string,
  { instructions, messages, quotation }: Prompt,
  signal: AbortSignal,
  { listener = null, tools = null }: { listener?: AnswerListener | null; tools?: ToolBox | null } = {},
): Promise<AnswerResult> {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const turns = [...messages];
  for (let attempts = 0; attempts < 2;) {
    const reader = new ReplyReader();
    const modelAnswer = await readStream(
      models.stream({ tenantId, instructions, messages: turns, maxOutputTokens, signal }),
      (piece) => {
        reader.push(piece);
        listener?.onProgress(reader);
      },
    );
    usage.inputTokens += modelAnswer.usage.inputTokens;
    usage.outputTokens += modelAnswer.usage.outputTokens;
    const answer = parseAnswer(modelAnswer.text);
    if (answer !== null) return { answer, usage };
    listener?.onRestart();
    const calls = tools === null || tools.callsLeft === 0 ? null : parseCalls(modelAnswer.text);
    if (tools !== null && calls !== null) {
      const quotedCalls = JSON.stringify({ action: 'call', calls }).slice(0, maxQuotedCallCharacters);
      turns.push(
        { role: 'assistant', content: plainText(quotedCalls) },
        { role: 'user', content: await tools.call(calls, quotation, signal) },
      );
      continue;
    }
    attempts += 1;
    turns.push(
      { role: 'assistant', content: plainText(modelAnswer.text.slice(0, 4_000)) || '…' },
      { role: 'user', content: repairPrompt },
    );
  }
  return { answer: null, usage };
}

async function readStream(
  stream: AsyncGenerator<string, ModelAnswer>,
  onProgress: (piece: string) => void,
): Promise<ModelAnswer> {
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return step.value;
    onProgress(step.value);
  }
}

/** The JSON object of an answer, also where words or a fence stand around it. */
function parseObject(text: string): unknown {
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  if (from === -1 || to < from) return null;
  try {
    return JSON.parse(text.slice(from, to + 1));
  } catch {
    return null;
  }
}

/** What an answer wants called; null where it is no such answer. */
const parseCalls = (text: string): ToolCallRequest[] | null =>
  callsSchema.safeParse(parseObject(text)).data?.calls ?? null;

/** An answer as it was asked for; null for any other. */
export function parseAnswer(text: string): AiAnswer | null {
  const parsed = answerSchema.safeParse(parseObject(text));
  if (!parsed.success || !isStorableText(parsed.data.reply)) return null;
  const needsText = parsed.data.action === 'answer' || parsed.data.action === 'clarify';
  return needsText && parsed.data.reply.trim() === '' ? null : parsed.data;
}
