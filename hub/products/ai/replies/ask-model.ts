import { z } from 'zod';
import { aiActions } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { isStorableText } from '../../../../shared/json.ts';
import type { ModelAnswer } from '../../../engine/index.ts';
import { plainText } from '../../../platform/inference/untrusted-text.ts';
import type { ReplyModels } from './faces.ts';
import type { Prompt } from './prompt.ts';
import { ReplyReader } from './reply-reader.ts';
import type { ToolBox, WantedCall } from './tools.ts';

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

/** Of calls a model is shown again so many characters. */
const shownCharacters = 1_000;

/**
 * Asks for an answer of the shape; one that has another is repaired once. Calls of tools are carried out on the way, as far as there are any left.
 * @throws AppError where no model answers; the signal's reason.
 */
export async function askModel(
  models: ReplyModels,
  tenantId: string,
  { instructions, messages, quotation }: Prompt,
  signal: AbortSignal,
  { listener = null, tools = null }: { listener?: AnswerListener | null; tools?: ToolBox | null } = {},
): Promise<AskedAnswer> {
  const usage = { inputTokens: 0, outputTokens: 0 };
  const turns = [...messages];
  for (let tries = 0; tries < 2;) {
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
    const calls = tools === null || tools.callsLeft === 0 ? null : parseCalls(given.text);
    if (tools !== null && calls !== null) {
      const shown = JSON.stringify({ action: 'call', calls }).slice(0, shownCharacters);
      turns.push(
        { role: 'assistant', content: plainText(shown) },
        { role: 'user', content: await tools.call(calls, quotation, signal) },
      );
      continue;
    }
    tries += 1;
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

/** The JSON object of an answer, also where words or a fence stand around it. */
function objectIn(text: string): unknown {
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
const parseCalls = (text: string): WantedCall[] | null => callsSchema.safeParse(objectIn(text)).data?.calls ?? null;

/** An answer as it was asked for; null for any other. */
export function parseAnswer(text: string): AiAnswer | null {
  const parsed = answerSchema.safeParse(objectIn(text));
  if (!parsed.success || !isStorableText(parsed.data.reply)) return null;
  const speaks = parsed.data.action === 'answer' || parsed.data.action === 'clarify';
  return speaks && parsed.data.reply.trim() === '' ? null : parsed.data;
}
