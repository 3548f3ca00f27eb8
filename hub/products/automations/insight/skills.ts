import { z } from 'zod';
import { sloWindows } from '../../../../shared/contract/automations/insight.ts';
import type { SloWindow } from '../../../../shared/contract/automations/insight.ts';
import { defineSkill } from '../../../engine/skill.ts';
import type { Skill } from '../../../engine/skill.ts';
import type { Insight } from './insight.ts';

const windows = Object.keys(sloWindows) as [SloWindow, ...SloWindow[]];

export function insightSkills(insight: Insight): Skill[] {
  return [
    defineSkill({
      id: 'runs.summary',
      title: 'Sum up runs',
      summary: 'Says how the runs of this workspace went within a window.',
      requires: ['automations'],
      effect: 'pure',
      input: z.strictObject({ window: z.enum(windows, `must be one of ${windows.join(', ')}`).default('24h') }),
      async execute({ window }, { tenantId }) {
        const slo = await insight.slo(tenantId, window);
        const { total, succeeded, failed, cancelled, successRate } = slo.runs;
        const rate =
          successRate === null
            ? ''
            : ` (${Math.round(successRate * 1000) / 10} % of those that ended by themselves succeeded)`;
        const latency =
          slo.latencyMs.run.p50 === null
            ? ''
            : ` Half of them took less than ${slo.latencyMs.run.p50} ms, 95 % less than ${slo.latencyMs.run.p95} ms.`;
        return {
          output: {
            ...slo,
            runs: { ...slo.runs },
            latencyMs: { queue: { ...slo.latencyMs.queue }, run: { ...slo.latencyMs.run } },
            nodes: { online: slo.nodes.online, total: slo.nodes.total },
            webhooks: { ...slo.webhooks },
          },
          outputText: `${total} runs in ${window}: ${succeeded} succeeded, ${failed} failed, ${cancelled} cancelled${rate}.${latency} ${slo.nodes.online} of ${slo.nodes.total} nodes are online.`,
        };
      },
    }),
  ];
}
