import type { CreateWorkflow, Node } from '../../../../../shared/client/client.ts';
import type { Words } from '../../app/language.tsx';

const maxNameCharacters = 200;
/** Shared folders that the workflow lists. */
export const listedFolders = 100;

/** Whether the owner of the machine allows pictures of its screen, and the machine has one. */
export const canCapture = ({ device }: Pick<Node, 'device'>): boolean =>
  device?.capabilities.includes('node.capture_screen') === true;

/** A workflow that changes nothing: it checks that a machine answers, and shows its screen or its shared folders. */
export function firstWorkflow(node: Node, name: string, texts: Words['start']): CreateWorkflow {
  const input = { nodeId: node.id };
  const steps = canCapture(node)
    ? [{ type: 'skill', id: 'picture', name: texts.captureStep, skillId: 'node.capture_screen', input } as const]
    : [
        {
          type: 'skill',
          id: 'folders',
          name: texts.listStep,
          skillId: 'node.files_list',
          input: { ...input, limit: listedFolders },
        } as const,
      ];
  return {
    name: name.slice(0, maxNameCharacters),
    stepsJson: [{ type: 'skill', id: 'ping', name: texts.pingStep, skillId: 'node.ping', input }, ...steps],
  };
}
