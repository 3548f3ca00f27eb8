import { createEgress } from '../../platform/egress/egress.ts';
import { createInference } from '../../platform/inference/inference.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import { Ai } from './models/index.ts';
import { modelRoutes } from './models/routes.ts';
import { aiSkills } from './models/skills.ts';

export interface AiSettings {
  /** The hub's own model; null without one. */
  ai: { baseUrl: string; model: string; apiKey: string | null } | null;
}

/** The models of workspaces, and the way to ask them. */
export interface AiProduct extends Product {
  ai: Ai;
}

/** @param stack ends what it opens. */
export function createAi(
  stack: AsyncDisposableStack,
  { db, secrets, egress }: Platform,
  settings: AiSettings,
): AiProduct {
  const ai = new Ai({ db, secrets, inference: createInference(egress), own: ownModel(stack, settings) });
  return { ai, routes: modelRoutes(ai), skills: aiSkills(ai) };
}

function ownModel(stack: AsyncDisposableStack, { ai }: AiSettings) {
  if (ai === null) return null;
  // The operator chose this address, so it may be any.
  const { host, hostname } = new URL(ai.baseUrl);
  const egress = stack.use(createEgress({ allowHosts: [host, hostname] }));
  return { binding: { provider: 'openai-compatible' as const, ...ai }, inference: createInference(egress) };
}
