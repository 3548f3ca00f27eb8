import { z } from 'zod';

/** Input of a node skill beyond the command's own. Exactly one of `nodeId` and `node` is given. */
export const nodeSkillInput = {
  nodeId: z.uuid('must be the id of a paired node').optional().describe('Id of a paired node; or give `node`'),
  node: z.string().min(1).max(200).optional().describe('Name of a paired node, in the place of `nodeId`'),
  waitMs: z
    .int()
    .min(0)
    .max(300_000)
    .default(30_000)
    .describe('How long to wait for a node that is offline, in milliseconds'),
};

interface NodeSelection {
  nodeId?: unknown;
  node?: unknown;
}

/** Requires exactly one way to select the node; also judged while other fields hold templates. */
export const selectsOneNode = <Input extends z.ZodObject>(input: Input): Input => {
  const given = (value: object) => {
    const { nodeId, node } = value as NodeSelection;
    return [nodeId, node].filter((one) => one !== undefined).length;
  };
  const when = ({ value }: { value: unknown }) => typeof value === 'object' && value !== null;
  return input
    .refine((value) => given(value) !== 0, {
      path: ['nodeId'],
      message: 'is required, or node with the name of a node',
      when,
    })
    .refine((value) => given(value) !== 2, { path: ['node'], message: 'must not be given beside nodeId', when });
};
