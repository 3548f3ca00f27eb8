import type { ModelProvider } from '../../../../shared/contract/ai/models.ts';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import { createInference } from '../../../platform/inference/inference.ts';
import type { Inference, InferenceLimits, ModelBinding } from '../../../platform/inference/inference.ts';

export interface OwnModelSettings {
  provider: ModelProvider;
  baseUrl: string;
  model: string;
  apiKey: string | null;
  /** Null if the cost of calls is unknown. */
  prices: ModelPrices | null;
}

/**
 * Opens the hub's own model. The operator chose its address, so private addresses are permitted.
 * @param stack disposes what this function opens.
 */
export function openOwnModel(
  stack: AsyncDisposableStack,
  settings: OwnModelSettings,
  limits?: InferenceLimits,
): { binding: ModelBinding; inference: Inference; prices: ModelPrices | null } {
  const { prices, ...binding } = settings;
  const { host, hostname } = new URL(binding.baseUrl);
  const egress = stack.use(createEgress({ allowHosts: [host, hostname] }));
  return { binding, inference: createInference(egress, limits), prices };
}
