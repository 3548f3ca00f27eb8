import { createEgress } from '../../../platform/egress/egress.ts';
import { createEmbeddings } from '../../../platform/embeddings/embeddings.ts';
import type { EmbeddingsBinding } from '../../../platform/embeddings/embeddings.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import type { Product } from '../../../product.ts';
import { Knowledge } from './knowledge.ts';
import { knowledgeRoutes } from './routes.ts';
import { Vectors } from './vectors.ts';

export interface KnowledgeSettings {
  /** The model for embeddings of this hub; null without one. */
  embeddings: EmbeddingsBinding | null;
}

/** Creates the knowledge product. @param stack disposes the opened resources. */
export function createKnowledge(
  stack: AsyncDisposableStack,
  { db, cursors, logger }: Platform,
  { embeddings }: KnowledgeSettings,
): { knowledge: Knowledge } & Required<Pick<Product, 'routes' | 'tasks'>> {
  const vectors = embeddings === null ? null : openVectors(stack, { db, logger }, embeddings);
  const knowledge = new Knowledge({ db, cursors, vectors });
  return {
    knowledge,
    routes: knowledgeRoutes(knowledge),
    tasks: vectors === null ? [] : [{ name: 'embeddings', everyMs: 2_000, run: () => vectors.embedDue() }],
  };
}

function openVectors(stack: AsyncDisposableStack, parts: Pick<Platform, 'db' | 'logger'>, binding: EmbeddingsBinding) {
  // The operator configured this address, so private addresses are allowed.
  const { host, hostname } = new URL(binding.baseUrl);
  const egress = stack.use(createEgress({ allowHosts: [host, hostname] }));
  const stopping = new AbortController();
  const vectors = new Vectors({ ...parts, embeddings: createEmbeddings(egress, binding) }, stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await vectors.embedDue().catch(() => undefined);
  });
  return vectors;
}
