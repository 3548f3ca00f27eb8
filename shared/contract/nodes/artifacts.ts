import { z } from 'zod';
import { id, idParams } from '../common.ts';
import { defineResource } from '../define.ts';
const tag = 'Companion nodes';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

export const artifacts = defineResource({
  getAutomationArtifact: {
    ...manage,
    permission: 'automations:read',
    tag: 'Artefacts',
    method: 'GET',
    path: '/v1/automations/artifacts/{id}',
    summary: 'Read an artefact: a screenshot, a recording, a file',
    description: 'The answer has the content type of the artefact. Understands `Range: bytes=`.',
    params: idParams,
    response: z.unknown(),
    binaryResponse: '*/*',
    ranges: true,
    errors: ['range_not_satisfiable'],
  },
  readAutomationCommandFile: {
    tag,
    callers: ['device'],
    method: 'GET',
    path: '/v1/automations/nodes/{id}/commands/{commandId}/files/{artifactId}',
    summary: 'Read an artefact that a command names (the device calls this)',
    description:
      'Only while the device carries out the command, and only an artefact of the same run that `files` of its input names.',
    params: z.strictObject({
      id,
      commandId: id,
      artifactId: id.describe('Artefact that the input of the command names'),
    }),
    response: z.unknown(),
    binaryResponse: '*/*',
    ranges: true,
    errors: ['range_not_satisfiable'],
  },
});
