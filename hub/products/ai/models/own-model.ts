import { createEgress } from '../../../platform/egress/egress.ts';
import { createInference } from '../../../platform/inference/inference.ts';
import type { Inference, ModelBinding } from '../../../platform/inference/inference.ts';

export interface OwnModelSettings {
  baseUrl: string;
  model: string;
  apiKey: string | null;
}

/** The hub's own model and what reaches it. The operator chose this address, so it may be any. @param stack ends what it opens. */
export function openOwnModel(
  stack: AsyncDisposableStack,
  settings: OwnModelSettings,
): { binding: ModelBinding; inference: Inference } {
  const { host, hostname } = new URL(settings.baseUrl);
  const egress = stack.use(createEgress({ allowHosts: [host, hostname] }));
  return { binding: { provider: 'openai-compatible', ...settings }, inference: createInference(egress) };
}
