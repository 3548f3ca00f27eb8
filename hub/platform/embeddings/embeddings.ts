import { z } from 'zod';
import { EgressFailed, EgressRefused } from '../egress/egress.ts';
import type { Egress } from '../egress/egress.ts';

/** Address of an embedding model that speaks the OpenAI protocol. */
export interface EmbeddingsBinding {
  baseUrl: string;
  model: string;
  apiKey: string | null;
}

/** The model was unreachable, refused the request or returned an unusable response. */
export class EmbeddingsError extends Error {
  /** Whether the model refuses these texts, so that sending them again does not help. */
  readonly isRefusal: boolean;

  constructor(message: string, options: { isRefusal: boolean; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EmbeddingsError';
    this.isRefusal = options.isRefusal;
  }
}

export interface Embeddings {
  readonly model: string;
  /**
   * Returns a vector of length 1 for each text, in order. Does not retry.
   * @throws EmbeddingsError, or the signal's reason.
   */
  embed(texts: readonly string[], options: { signal: AbortSignal; timeoutMs: number }): Promise<Float32Array[]>;
}

const maxResponseBytes = 64 * 1024 * 1024;
const maxDimensions = 8_192;

const answerSchema = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()).min(1).max(maxDimensions) })),
});

/** Creates a client for the embedding model of a binding. */
export function createEmbeddings(egress: Egress, { baseUrl, model, apiKey }: EmbeddingsBinding): Embeddings {
  return {
    model,
    async embed(texts, { signal, timeoutMs }) {
      const response = await egress
        .fetch(`${baseUrl}/embeddings`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          },
          body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
          signal,
          timeoutMs,
          maxResponseBytes,
          followsRedirects: false,
        })
        .catch((error: unknown) => {
          if (error instanceof EgressFailed || error instanceof EgressRefused)
            throw new EmbeddingsError(error.message, { isRefusal: false, cause: error });
          throw error;
        });
      if (response.status !== 200)
        throw new EmbeddingsError(`${model} answered ${response.status}`, {
          isRefusal: response.status === 400 || response.status === 413 || response.status === 422,
        });
      return vectorsOf(model, response.body, texts.length);
    },
  };
}

/** @throws EmbeddingsError unless the response has one vector for each text, all of the same length. */
function vectorsOf(model: string, body: Buffer, count: number): Float32Array[] {
  const fail = (cause?: unknown) =>
    new EmbeddingsError(`${model} returned no usable vectors`, { isRefusal: false, cause });
  let answer: z.output<typeof answerSchema>;
  try {
    answer = answerSchema.parse(JSON.parse(body.toString('utf8')));
  } catch (error) {
    throw fail(error);
  }
  const vectors: (Float32Array | undefined)[] = Array.from({ length: count });
  for (const { index, embedding } of answer.data) {
    const norm = Math.hypot(...embedding);
    if (index >= count || !(norm > 0)) throw fail();
    vectors[index] = Float32Array.from(embedding, (value) => value / norm);
  }
  const dimensions = vectors[0]?.length;
  if (vectors.some((vector) => vector === undefined || vector.length !== dimensions)) throw fail();
  return vectors as Float32Array[];
}
