import { z } from 'zod';
import { idParams } from '../common.ts';
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
    description: 'Understands `Range: bytes=`.',
    params: idParams,
    response: z.unknown(),
    binaryResponse: 'application/octet-stream',
    errors: ['range_not_satisfiable'],
  },
});
