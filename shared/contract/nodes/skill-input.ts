import { z } from 'zod';

/** Input of a node skill besides that of the command. Exactly one of `nodeId` and `node` is required. */
export const nodeSkillInput = {
  nodeId: z
    .uuid('must be the id of a paired node')
    .optional()
    .describe('Id of a paired node; alternatively use `node`'),
  node: z.string().min(1).max(200).optional().describe('Name of a paired node, instead of `nodeId`'),
  waitMs: z
    .int()
    .min(0)
    .max(300_000)
    .default(30_000)
    .describe('Maximum time to wait for an offline node, in milliseconds'),
};

interface NodeSelection {
  nodeId?: unknown;
  node?: unknown;
}

/** Requires exactly one of `nodeId` and `node`. The check also runs while other fields contain unresolved templates. */
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
    .refine((value) => given(value) !== 2, { path: ['node'], message: 'must not be given together with nodeId', when });
};
