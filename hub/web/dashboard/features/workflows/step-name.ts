/** The name of a step, or what it does when it has none. */
export function stepName(step: object): string {
  const { name, skillId, type } = step as { name?: string; skillId?: string; type: string };
  return name ?? skillId ?? type;
}
