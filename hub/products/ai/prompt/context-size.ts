/** Tokens that a model takes in and puts out together, as far as its name tells. */
const known: readonly [RegExp, number][] = [
  [/^gpt-3\.5/, 16_385],
  [/^gpt-4(?:-\d{4})?$/, 8_192],
  [/^(?:gpt-4-turbo|gpt-4o|gpt-4\.|gpt-[5-9]|chatgpt|o\d)/, 128_000],
  [/^claude-(?:2\.0|instant)/, 100_000],
  [/^claude/, 200_000],
  [/^(?:gemini|grok|command-[ar]|deepseek-(?:chat|reasoner|v\d))/, 128_000],
  [/^(?:mistral-(?:large|medium|small)|codestral)/, 32_000],
];

/** For models with names that say nothing, and the least of those that do: servers of one's own often give a model less than it could take. */
export const leastContextTokens = 8_192;

/** How many tokens the smallest of some models takes in and puts out together: whichever of them answers, nothing is too long. */
export function contextTokensOf(models: readonly string[]): number {
  const sizes = models.map((model) => {
    // Those who pass on to others name the provider before it: `openai/gpt-5`.
    const name = model.toLowerCase().split('/').at(-1) ?? '';
    return known.find(([pattern]) => pattern.test(name))?.[1] ?? leastContextTokens;
  });
  return sizes.length === 0 ? leastContextTokens : Math.min(...sizes);
}
