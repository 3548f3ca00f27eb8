/** How the input of a node skill selects its node. */
export type NodeSelection = { id: string } | { name: string } | { tag: string };

/** The selection of an input that may be incomplete; null without one. */
export function nodeSelection(input: Record<string, unknown>): NodeSelection | null {
  const { nodeId, node, nodeTag } = input;
  if (typeof nodeId === 'string') return { id: nodeId };
  if (typeof node === 'string') return { name: node };
  return typeof nodeTag === 'string' ? { tag: nodeTag } : null;
}
