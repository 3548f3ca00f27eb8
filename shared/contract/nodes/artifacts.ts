import { z } from 'zod';
import { id, idParams } from '../common.ts';
import { defineResource } from '../define.ts';
const tag = 'Companion nodes';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

export const artifacts = defineResource({
  getAutomationArtifact: {
    ...manage,
    permission: 'automations:read',
    tag: 'Artifacts',
    method: 'GET',
    path: '/v1/automations/artifacts/{id}',
    summary: 'Download an artifact',
    description:
      'Artifacts are screenshots, recordings and files. The response has the content type of the artifact. Supports `Range: bytes=`.',
    params: idParams,
    query: z.strictObject({
      w: z
        .enum(['320', '640'], 'must be 320 or 640')
        .optional()
        .describe(
          'Maximum width in pixels: returns a small WebP copy of a picture. Files that are no pictures, and pictures of which the hub cannot make a copy, are returned as they are',
        ),
    }),
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
    summary: 'Download an artifact for a command (called by the device)',
    description:
      'Available only while the device executes the command, and only for artifacts of the same run that `files` of its input lists.',
    params: z.strictObject({
      id,
      commandId: id,
      artifactId: id.describe('Id of an artifact that the input of the command lists'),
    }),
    response: z.unknown(),
    binaryResponse: '*/*',
    ranges: true,
    errors: ['range_not_satisfiable'],
  },
});
