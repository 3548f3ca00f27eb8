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
      'Runs a workflow and waits for its end; it is cancelled with this run, and fails this step when it fails. After the timeoutSeconds of the step, the step fails and the workflow continues.',
    requires: ['automations'],
    input: z.strictObject({ workflowId: id, context: text(0, 100_000).optional(), payload: jsonObject.optional() }),
    output: z.object({
      runId: id,
      status: z.literal('succeeded'),
      output: jsonValue.describe('Of its last step that succeeded; null without one'),
    }),
  },
];
