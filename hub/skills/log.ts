import { z } from 'zod';
import { text } from '../../shared/contract/common.ts';
import { logLevels } from '../../shared/contract/steps.ts';
import type { Runs } from '../modules/runs/index.ts';
import { defineSkill } from './define.ts';
import type { DirectSkill } from './define.ts';

export function logSkills(runs: Pick<Runs, 'appendLog'>): DirectSkill[] {
  return [
    defineSkill({
      id: 'log.write',
      title: 'Write a log line',
      summary: 'Adds a line to the log of the run.',
      requires: ['automations'],
      effect: 'pure',
      input: z.strictObject({ message: text(1, 10_000), level: z.enum(logLevels).default('info') }),
      async execute({ message, level }, context) {
        return {
          output: { message, level },
          outputText: message,
          persist: (tx) =>
            runs.appendLog(tx, {
              tenantId: context.tenantId,
              runId: context.runId,
              stepIndex: context.stepIndex,
              level,
              message,
            }),
        };
      },
    }),
  ];
}
