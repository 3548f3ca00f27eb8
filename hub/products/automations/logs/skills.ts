import { z } from 'zod';
import { logLevels } from '../../../../shared/contract/automations/steps.ts';
import { text } from '../../../../shared/contract/common.ts';
import { defineSkill, sunk } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import { logLines } from './record.ts';

export function logSkills(): DirectSkill[] {
  return [
    defineSkill({
      id: 'log.write',
      title: 'Write a log line',
      summary: 'Adds a line to the log of the run.',
      requires: ['automations'],
      effect: 'pure',
      input: z.strictObject({ message: text(1, 10_000), level: z.enum(logLevels).default('info') }),
      output: z.object({ message: z.string(), level: z.enum(logLevels) }),
      async execute({ message, level }, context) {
        return {
          output: { message, level },
          outputText: message,
          rows: [
            sunk(logLines, {
              tenantId: context.tenantId,
              workflowId: context.workflowId,
              runId: context.runId,
              stepIndex: context.stepIndex,
              level,
              message,
            }),
          ],
        };
      },
    }),
  ];
}
