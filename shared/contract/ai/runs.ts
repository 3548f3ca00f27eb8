import { z } from 'zod';
import { isStorableText } from '../../json.ts';
import { chatText, codePoints } from '../chat/shapes.ts';
import { id, idParams, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const invoke = { tag: 'AI Agent', callers: ['token'], permission: 'ai:invoke' } as const;

export const maxInputLength = 4_000;
export const maxContextLength = 24_000;
const maxMetadataKeys = 50;
const maxMetadataKeyLength = 40;
const maxMetadataValueLength = 500;

/** A BCP 47 language code, such as `de` or `pt-BR`. */
export const languageCode = z
  .string()
  .max(35, 'must have at most 35 characters')
  .refine(isLanguageCode, 'must be a language code, such as de or pt-BR');

function isLanguageCode(code: string): boolean {
  try {
    return Intl.getCanonicalLocales(code).length === 1;
  } catch {
    return false;
  }
}

const metadataText = (what: string, max: number) =>
  z
    .string(`must be text`)
    .refine((value) => codePoints(value, max) <= max, `${what} must have at most ${max} characters`)
    .refine(isStorableText, 'must not contain a NUL character or an unpaired surrogate');

const metadata = z.record(z.string(), metadataText('a value', maxMetadataValueLength)).superRefine((pairs, context) => {
  const keys = Object.keys(pairs);
  if (keys.length > maxMetadataKeys)
    context.addIssue({ code: 'custom', message: `must have at most ${maxMetadataKeys} keys` });
  for (const key of keys) {
    const isKey = key !== '' && codePoints(key, maxMetadataKeyLength) <= maxMetadataKeyLength && isStorableText(key);
    if (!isKey)
      context.addIssue({
        code: 'custom',
        path: [key],
        message: `has a key that is empty, longer than ${maxMetadataKeyLength} characters, or cannot be stored`,
      });
  }
});

export const createAiRunBody = named(
  'CreateAiRun',
  z.strictObject({
    input: chatText(1, maxInputLength).describe(`Question, 1 to ${maxInputLength.toLocaleString('en')} code points`),
    context: chatText(0, maxContextLength)
      .optional()
      .describe(
        `Facts for the answer, at most ${maxContextLength.toLocaleString('en')} code points. They are quoted as data: the model does not follow instructions in them`,
      ),
    metadata: metadata
      .optional()
      .describe(
        `Your own data for finding the run: at most ${maxMetadataKeys} keys of ${maxMetadataKeyLength} characters, with texts of ${maxMetadataValueLength}. It is not sent to models`,
      ),
    mode: z
      .literal('text', 'must be text')
      .optional()
      .describe('Kind of the answer; `text` is the only one and the default'),
    locale: languageCode.optional().describe('Language of the answer (BCP 47); the language of the input when omitted'),
  }),
  { input: 'When can I bring it back?', context: 'Ordered on 2026-01-20.', locale: 'en', metadata: { ticket: '4711' } },
);

const attempt = z.object({
  modelId: z.string().nullable().optional().describe("Id of a model of the workspace; null for the hub's own model"),
  model: z.string().describe('Name of the model at the provider'),
  ms: z.int().describe('Duration of the call in milliseconds'),
  outcome: z.string().describe('Outcome of the call, such as `answered`, `timeout` or `http_429`'),
  detail: z
    .string()
    .optional()
    .describe('Error of the provider about the key, the account or the model, without secrets'),
});

export const aiRun = named(
  'AiRun',
  z.object({
    id: id.describe('Id of the AI run'),
    status: z.enum(['succeeded', 'failed']).describe('`failed`: no model answered; see `error`'),
    outputText: z
      .string()
      .nullable()
      .describe(
        'Answer as Markdown without images and HTML. It contains only URLs that are in the knowledge, the terms or the input. Null when the run failed',
      ),
    input: z.string().describe('Input as it was sent'),
    context: z.string().nullable().describe('Context as it was sent; null without one'),
    metadata: z.record(z.string(), z.string()).describe('Metadata as it was sent; empty without any'),
    mode: z.literal('text').describe('Kind of the answer; always `text`'),
    locale: z.string().nullable().describe('Requested language of the answer (BCP 47); null when none was requested'),
    environment: z.enum(['live', 'test']).describe('Environment of the key; runs of test keys call the same models'),
    model: z.string().nullable().describe('Model that answered; null when none did'),
    attempts: z.array(attempt).describe('Calls of models, in order'),
    usage: z
      .object({
        inputTokens: z.int().describe('Tokens that were sent to models'),
        outputTokens: z.int().describe('Tokens that models wrote'),
      })
      .describe('Tokens of all calls of this run'),
    latencyMs: z.int().describe('Time from the request to the answer, in milliseconds'),
    truncated: z.boolean().describe('Whether a part of the prompt was omitted, or the answer was cut at 1,024 tokens'),
    truncation: z.string().nullable().describe('Description of the omitted part; null without one'),
    sources: z.array(z.string()).describe('Ids of the knowledge entries in the prompt'),
    error: z
      .object({
        code: z.string().describe('Stable code, for programs'),
        message: z.string().describe('Human-readable message: what went wrong and what to do'),
      })
      .nullable()
      .describe('Why the run failed; null when it succeeded'),
    createdAt: timestamp,
  }),
  {
    id: '01980000-0000-7000-8000-00000000a1a1',
    status: 'succeeded',
    outputText: 'Until 19 February, with the receipt.',
    input: 'When can I bring it back?',
    context: 'Ordered on 2026-01-20.',
    metadata: { ticket: '4711' },
    mode: 'text',
    locale: 'en',
    environment: 'live',
    model: 'gpt-5',
    attempts: [{ model: 'gpt-5', ms: 812, outcome: 'succeeded' }],
    usage: { inputTokens: 412, outputTokens: 12 },
    latencyMs: 830,
    truncated: false,
    truncation: null,
    sources: ['returns'],
    error: null,
    createdAt: '2026-01-31T09:00:00.000Z',
  },
);
export type AiRun = z.output<typeof aiRun>;

const metadataFilter = z.record(z.string(), z.string());
/** Parses a metadata filter; null for an invalid one. */
export function metadataOf(value: string): Record<string, string> | null {
  try {
    return metadataFilter.safeParse(JSON.parse(value)).data ?? null;
  } catch {
    return null;
  }
}

export const aiRuns = defineResource({
  createAiRun: {
    ...invoke,
    method: 'POST',
    path: '/v1/ai/runs',
    summary: 'Create an AI run',
    description:
      'Answers the input from the knowledge and the terms of the workspace and from `context`, all quoted as data, and returns the finished run. The models have 30 seconds in total. If all models fail, the run is stored and its id is the `runId` of the 503. No run is created if no model is configured, too many runs of the workspace are in progress, or the daily budget is used up (429). Closing the connection cancels the model call. A repeated `Idempotency-Key` returns the first run; errors are not stored.',
    body: createAiRunBody,
    response: aiRun,
    waitsForThirdParty: true,
    maxOpenSeconds: 60,
    errors: ['ai_binding_not_configured', 'inference_failed', 'ai_budget_used_up'],
  },
  listAiRuns: {
    ...invoke,
    method: 'GET',
    path: '/v1/ai/runs',
    summary: 'List AI runs',
    description: 'Newest first.',
    query: listQuery.extend({
      status: z.enum(['succeeded', 'failed'], 'must be succeeded or failed').optional(),
      environment: z.enum(['live', 'test'], 'must be live or test').optional(),
      metadata: text(2, 4_000)
        .refine((value) => metadataOf(value) !== null, 'must be a JSON object of texts, such as {"ticket":"4711"}')
        .optional()
        .describe('JSON object with text values; only runs whose metadata contain all of them'),
    }),
    response: page(aiRun),
  },
  getAiRun: {
    ...invoke,
    method: 'GET',
    path: '/v1/ai/runs/{id}',
    summary: 'Get an AI run',
    description:
      'Returns runs of both environments, succeeded or failed. Runs are deleted after `AI_RUN_RETENTION_DAYS` (90 by default).',
    params: idParams,
    response: aiRun,
  },
  cancelAiRun: {
    ...invoke,
    method: 'POST',
    path: '/v1/ai/runs/{id}/cancel',
    summary: 'Cancel an AI run (planned)',
    description:
      'Planned for asynchronous runs, which do not exist yet: returns 501 `not_available`. To cancel a run, close the connection of its request.',
    params: idParams,
    response: aiRun,
    errors: ['not_available'],
  },
});
