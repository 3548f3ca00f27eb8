/** Context size in tokens (input and output together) by model name. */
const contextSizes: readonly [RegExp, number][] = [
  [/^gpt-3\.5/, 16_385],
  [/^gpt-4(?:-\d{4})?$/, 8_192],
  [/^(?:gpt-4-turbo|gpt-4o|gpt-4\.|gpt-[5-9]|chatgpt|o\d)/, 128_000],
  [/^claude-(?:2\.0|instant)/, 100_000],
  [/^claude/, 200_000],
  [/^(?:gemini|grok|command-[ar]|deepseek-(?:chat|reasoner|v\d))/, 128_000],
  [/^(?:mistral-(?:large|medium|small)|codestral)/, 32_000],
];

/** Context size of unknown models, which is also the smallest known one. A private server often limits the context. */
export const minContextTokens = 8_192;

/** Returns the smallest context size of some models, so that the prompt fits each of them. */
export function contextTokensOf(models: readonly string[]): number {
  const sizes = models.map((model) => {
    // Model gateways prefix the name with the provider: `openai/gpt-5`.
    const name = model.toLowerCase().split('/').at(-1) ?? '';
    return contextSizes.find(([pattern]) => pattern.test(name))?.[1] ?? minContextTokens;
  });
  return sizes.length === 0 ? minContextTokens : Math.min(...sizes);
}
