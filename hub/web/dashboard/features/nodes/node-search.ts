/** What the address of a node page remembers besides the node and its tab. */

export const commandStatuses = ['pending', 'leased', 'succeeded', 'failed', 'withdrawn'] as const;
export type CommandStatus = (typeof commandStatuses)[number];

export interface NodeSearch {
  /** Commands: where the page of the list begins. */
  cursor?: string;
  /** Commands: only those in this status. */
  status?: CommandStatus;
  /** Console: the chosen command. */
  skill?: string;
  /** Console: the run whose result is shown. */
  run?: string;
}

export function readNodeSearch({ status, skill, run, cursor }: Record<string, unknown>): NodeSearch {
  const known = commandStatuses.find((name) => name === status);
  return {
    ...(known === undefined ? {} : { status: known }),
    ...(typeof cursor === 'string' ? { cursor } : {}),
    ...(typeof skill === 'string' ? { skill } : {}),
    ...(typeof run === 'string' ? { run } : {}),
  };
}

export const nodeStatuses = ['pending', 'online', 'offline', 'revoked'] as const;
export type NodeStatus = (typeof nodeStatuses)[number];

export interface NodesSearch {
  /** Where the page of the list begins. */
  cursor?: string;
  /** Only nodes in this status. */
  status?: NodeStatus;
  /** Only nodes with this tag. */
  tag?: string;
}

export function readNodesSearch({ status, tag, cursor }: Record<string, unknown>): NodesSearch {
  const known = nodeStatuses.find((name) => name === status);
  return {
    ...(known === undefined ? {} : { status: known }),
    // A tag of digits is a number in an address. Revoked nodes are not found by tag.
    ...((typeof tag === 'string' || typeof tag === 'number') && known !== 'revoked' ? { tag: String(tag) } : {}),
    ...(typeof cursor === 'string' ? { cursor } : {}),
  };
}
