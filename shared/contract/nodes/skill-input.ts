import { z } from 'zod';
import { nodeTag } from './device.ts';

/** Input of a node skill besides that of the command. Exactly one of `nodeId`, `node` and `nodeTag` is required. */
export const nodeSkillInput = {
  nodeId: z
    .uuid('must be the id of a paired node')
    .optional()
    .describe('Id of a paired node; alternatively use `node` or `nodeTag`'),
  node: z.string().min(1).max(200).optional().describe('Name of a paired node, instead of `nodeId`'),
  nodeTag: nodeTag
    .optional()
    .describe(
      'Tag of paired nodes, instead of `nodeId`. The hub chooses a node with this tag, and the run keeps that node for its further steps',
    ),
  waitMs: z
    .int()
    .min(0)
    .max(300_000)
    .default(30_000)
    .describe('Maximum time to wait for an offline node, in milliseconds'),
};

/** Requires exactly one selector. The check also runs while other fields contain unresolved templates. */
export const selectsOneNode = <Input extends z.ZodObject>(input: Input): Input => {
  const has = (value: object, name: string) => (value as Record<string, unknown>)[name] !== undefined;
  const when = ({ value }: { value: unknown }) => typeof value === 'object' && value !== null;
  return input
    .refine((value) => has(value, 'nodeId') || has(value, 'node') || has(value, 'nodeTag'), {
      path: ['nodeId'],
      message: 'is required, or node with the name of a node, or nodeTag with a tag',
      when,
    })
    .refine((value) => !(has(value, 'nodeId') && has(value, 'node')), {
      path: ['node'],
      message: 'must not be given together with nodeId',
      when,
    })
    .refine((value) => !(has(value, 'nodeTag') && (has(value, 'nodeId') || has(value, 'node'))), {
      path: ['nodeTag'],
      message: 'must not be given together with nodeId or node',
      when,
    });
};
