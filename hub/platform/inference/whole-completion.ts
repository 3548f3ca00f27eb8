import { z } from 'zod';

/** A chat completion of OpenAI that was not streamed, with the fields that the hub reads. */
const wholeCompletion = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        message: z.looseObject({ content: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: z.looseObject({}).nullish(),
});

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;

/**
 * Converts a chat completion to the events of a stream. Some OpenAI-compatible endpoints never stream, even when
 * requested. Returns null for a body that is not a chat completion.
 */
export function completionToEvents(body: string): string | null {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return null;
  }
  const { success, data } = wholeCompletion.safeParse(json);
  if (!success) return null;
  const { choices, usage, ...about } = data;
  const [choice] = choices;
  const delta = { role: 'assistant', content: choice?.message.content ?? '' };
  return [
    event({ ...about, choices: [{ index: 0, delta, finish_reason: null }] }),
    event({ ...about, choices: [{ index: 0, delta: {}, finish_reason: choice?.finish_reason ?? 'stop' }] }),
    ...(usage === null || usage === undefined ? [] : [event({ ...about, choices: [], usage })]),
    'data: [DONE]\n\n',
  ].join('');
}
