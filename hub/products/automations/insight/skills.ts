import { z } from 'zod';
import { slo, sloWindows } from '../../../../shared/contract/automations/insight.ts';
import type { SloWindow } from '../../../../shared/contract/automations/insight.ts';
import { defineReadingSkill } from '../../../engine/skill.ts';
import type { Skill } from '../../../engine/skill.ts';
import type { Insight } from './insight.ts';

const windows = Object.keys(sloWindows) as [SloWindow, ...SloWindow[]];

export function insightSkills(insight: Insight): Skill[] {
  return [
    defineReadingSkill({
      id: 'runs.summary',
      title: 'Summarise runs',
      summary: 'Summarises the runs of this workspace within a time window.',
      requires: ['automations'],
      scope: [],
      input: z.strictObject({ window: z.enum(windows, `must be one of ${windows.join(', ')}`).default('24h') }),
      output: slo.extend({ nodes: slo.shape.nodes.pick({ online: true, total: true }) }),
      async read({ window }, { tenantId }) {
        const found = await insight.slo(tenantId, window);
        const { total, succeeded, failed, cancelled, successRate } = found.runs;
        const rate =
          successRate === null
            ? ''
            : ` (${Math.round(successRate * 1000) / 10} % of the runs that were not cancelled succeeded)`;
        const latency =
          found.latencyMs.run.p50 === null
            ? ''
            : ` Half of them took less than ${found.latencyMs.run.p50} ms, 95 % less than ${found.latencyMs.run.p95} ms.`;
        return {
          output: {
            ...found,
            runs: { ...found.runs },
            latencyMs: { queue: { ...found.latencyMs.queue }, run: { ...found.latencyMs.run } },
            nodes: { online: found.nodes.online, total: found.nodes.total },
            webhooks: { ...found.webhooks },
          },
          outputText: `${total} runs in ${window}: ${succeeded} succeeded, ${failed} failed, ${cancelled} cancelled${rate}.${latency} ${found.nodes.online} of ${found.nodes.total} nodes are online.`,
        };
      },
    }),
  ];
}
