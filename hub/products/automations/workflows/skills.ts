import { z } from 'zod';
import { id, text } from '../../../../shared/contract/common.ts';
import { jsonObject, jsonValue } from '../../../../shared/json.ts';
import type { SpawnSkill } from '../../../engine/skill.ts';

export const workflowSkills = (): SpawnSkill[] => [
  {
    kind: 'spawn',
    id: 'subagent.spawn',
    title: 'Run another workflow',
    summary:
      'Runs a workflow and waits until it ends. Cancelling this run cancels the child run, and a failed child run fails this step. When the step exceeds its timeoutSeconds, it fails and the child run continues.',
    requires: ['automations'],
    input: z.strictObject({ workflowId: id, context: text(0, 100_000).optional(), payload: jsonObject.optional() }),
    output: z.object({
      runId: id,
      status: z.literal('succeeded'),
      output: jsonValue.describe('Output of its last succeeded step; null without one'),
    }),
  },
];
