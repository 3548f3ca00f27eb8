import { z } from 'zod';

/** A chat completion of OpenAI that came whole, as far as it is read. */
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
 * The events of a stream that say what a whole completion says: some endpoints that speak OpenAI's protocol know no streams, and answer so whatever they are asked. Null for a body
 * that is no such completion.
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
