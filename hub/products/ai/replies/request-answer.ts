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
  /** Null if the answer was invalid twice. */
  answer: AiAnswer | null;
  usage: { inputTokens: number; outputTokens: number };
}

/** Receives an answer while it is generated. */
export interface AnswerListener {
  onProgress(reader: ReplyReader): void;
  /** The answer received so far is invalid or calls tools. Another answer follows. */
  onRestart(): void;
}

const maxOutputTokens = 1_024;
const repairPrompt =
  'That was not the JSON object that was asked for. Answer again with that object alone: {"action": …, "reason": …, "sources": […], "reply": …}.';

/** Characters of its own tool calls that a model receives in the next request. */
const maxQuotedCallCharacters = 1_000;

/**
 * Requests an answer of the required shape. An answer of another shape is requested again once.
 * Tool calls in an answer are run, up to the limit of `tools`, and their results are sent back to the model.
 * @throws AppError if no model answers, or the reason of the signal.
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

/** Parses the JSON object in a text. Text or a code fence around the object is ignored. */
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

/** Returns the tool calls that an answer requests, or null if it requests none. */
const parseCalls = (text: string): ToolCallRequest[] | null =>
  callsSchema.safeParse(parseObject(text)).data?.calls ?? null;

/** Returns an answer of the required shape, or null for any other text. */
export function parseAnswer(text: string): AiAnswer | null {
  const parsed = answerSchema.safeParse(parseObject(text));
  if (!parsed.success || !isStorableText(parsed.data.reply)) return null;
  const needsText = parsed.data.action === 'answer' || parsed.data.action === 'clarify';
  return needsText && parsed.data.reply.trim() === '' ? null : parsed.data;
}
