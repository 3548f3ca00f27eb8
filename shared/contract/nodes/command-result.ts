import { z } from 'zod';
import { named, text } from '../common.ts';

/** Codes of a command that failed on, or on the way to, a device. A device may use others of its own. */
const commandErrorCodes = [
  'denied_by_device',
  'denied_by_policy',
  'outside_shared_folders',
  'downloads_not_received',
  'hub_unreachable',
  'tool_missing',
  'permission_needed',
  'timeout',
  'paused',
  'audit_unavailable',
  'protected_path',
  'not_begun',
  'interrupted',
  'approval_mismatch',
  'invalid_input',
  'not_found',
  'target_not_found',
  'too_large',
  'navigation_failed',
  'page_closed',
  'page_of_another_run',
  'too_many_pages',
  'evaluation_failed',
  'withdrawn',
  'outcome_unknown',
  'unknown_command',
  'failed',
  'node_offline',
  'node_revoked',
  'invalid_reply',
] as const;

/** Name of an artefact, unique within its result. */
export const artifactName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/, 'must be a plain file name');
/** Content type of an artefact, without parameters. */
export const artifactContentType = z
  .string()
  .regex(/^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/, 'must be a content type such as image/png');
/** Artefacts of one command, at most. */
export const maxArtifacts = 16;
/** Greatest artefact, in bytes. */
export const maxArtifactBytes = 256 * 1024 * 1024;

/** The `result` of a command: as the JSON body, or as the field `result` of a multipart body whose files are the artefacts. */
export const commandResult = named(
  'CommandResult',
  z.object({
    status: z.enum(['succeeded', 'failed']).describe('Whether the command was carried out'),
    output: z
      .unknown()
      .optional()
      .describe(
        'The output of the command, as the catalog of skills describes it. Where the catalog has `artifactId`, the device sends `artifact` instead: the name of a file of this result. The other fields, such as `contentType` and `bytes`, are required as in the catalog. The hub replaces `artifact` by `artifactId`',
      ),
    error: z
      .object({
        code: z
          .string()
          .regex(/^[a-z][a-z0-9_]{0,59}$/, 'must be snake_case')
          .describe(`Such as ${commandErrorCodes.join(', ')}`),
        message: text(0, 4000).describe('What went wrong, for people; at most 4,000 characters'),
      })
      .optional()
      .describe('Why the command failed; only with `failed`'),
    artifacts: z
      .array(
        z.object({
          name: artifactName.describe('Plain file name, unique in the result'),
          contentType: artifactContentType.describe('Content type without parameters, such as `image/png`'),
          base64: z.base64().describe('Bytes of the file, as base64'),
        }),
      )
      .max(maxArtifacts)
      .optional()
      .describe('Files of the result, at most 16, as base64 in this body'),
    uploads: z
      .array(artifactName)
      .max(maxArtifacts)
      .optional()
      .describe('Names of artefacts that were uploaded before the result'),
  }),
);
export type CommandResult = z.output<typeof commandResult>;

/** What a device says of an artefact that it uploads in pieces; the same with every piece. */
export const uploadQuery = z.strictObject({
  offset: z.coerce
    .number()
    .int()
    .min(0, 'must be from 0 to what the hub has')
    .describe('Where the bytes of this request begin; at most what the hub has'),
  bytes: z.coerce
    .number()
    .int()
    .min(1, 'must be from 1 to 268435456')
    .max(maxArtifactBytes, 'must be from 1 to 268435456')
    .describe('Size of the whole artefact'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .describe('Of the whole artefact'),
  contentType: artifactContentType,
});
export type UploadFacts = z.output<typeof uploadQuery>;

export const uploadState = named(
  'UploadState',
  z.object({
    name: z.string().describe('Name of the artifact, unique in its command'),
    received: z.int().describe('Bytes that the hub has: where the next piece begins'),
    bytes: z.int().nullable().describe('Size of the whole artefact; null before the first piece'),
    complete: z
      .boolean()
      .describe('All bytes are there and have the checksum; a result may name the artefact in `uploads`'),
  }),
);
