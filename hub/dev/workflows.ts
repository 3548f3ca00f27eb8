import type { z } from 'zod';
import type { Client } from '../../shared/client/client.ts';
import { workflows as contract } from '../../shared/contract/automations/workflows.ts';

type NewWorkflow = z.input<typeof contract.createAutomationWorkflow.body>;

/** Example workflows: one asks a person, one uses the paired machine, one runs on a schedule. */
const examples = ({ nodeId, folder }: { nodeId: string; folder: string }): NewWorkflow[] => [
  {
    name: 'Example: greet a guest',
    stepsJson: [
      { type: 'skill', id: 'save', skillId: 'memory.write', input: { key: 'guest', value: '{{payload.name}}' } },
      { type: 'approval', title: 'Greet {{payload.name}}?' },
      { type: 'log', message: 'Hello {{steps.save.output.value}}' },
    ],
  },
  {
    name: 'Example: look at this machine',
    stepsJson: [
      { type: 'skill', id: 'ping', skillId: 'node.ping', input: { nodeId } },
      { type: 'skill', id: 'files', skillId: 'node.files_list', input: { nodeId, path: folder } },
      { type: 'log', message: 'It answered after {{steps.ping.output.latencyMs}} ms.' },
    ],
  },
  {
    name: 'Example: sum up the day',
    triggerJson: { type: 'schedule', schedule: { kind: 'cron', cron: '0 18 * * *', timezone: 'UTC' } },
    stepsJson: [
      { type: 'skill', id: 'summary', skillId: 'runs.summary', input: { window: '24h' } },
      { type: 'log', message: '{{last.outputText}}' },
    ],
  },
];

/** Creates the example workflows that do not exist yet. */
export async function seedWorkflows(api: Client, machine: { nodeId: string; folder: string }): Promise<void> {
  const { data } = await api.call('listAutomationWorkflows', { query: { limit: 100 } });
  const names = new Set(data.map(({ name }) => name));
  for (const body of examples(machine)) if (!names.has(body.name)) await api.call('createAutomationWorkflow', { body });
}
