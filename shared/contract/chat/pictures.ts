import { z } from 'zod';
import { deleted, id, named } from '../common.ts';
import { defineResource } from '../define.ts';

/** Pictures of members, which visitors see next to messages. */

export const maxPictureBytes = 1024 * 1024;
export const maxPicturePixels = 2_048;
export const minPicturePixels = 16;

const tag = 'Workspaces and people';
const memberOnly = { tag, callers: ['session'], role: 'agent' } as const;
const adminOnly = { tag, callers: ['session'], role: 'admin' } as const;
const memberParams = z.strictObject({ tenantId: id, userId: id });

const rules =
  'The body is the file: PNG, JPEG or WebP, not animated, at most 1 MiB, 16 to 2,048 pixels per side. The type is detected from the content. Metadata, such as the location, is removed.';
const pictureErrors = ['validation_failed', 'payload_too_large', 'unsupported_media_type', 'rate_limited'] as const;

const storedPicture = named(
  'MemberPicture',
  z.object({
    userId: id.describe('Id of the member'),
    picture: z.string().describe('Path of the picture, relative to the URL of this hub; requires no credentials'),
    contentType: z.string().describe('`image/png`, `image/jpeg` or `image/webp`'),
    bytes: z.int().describe('Size of the stored picture, in bytes'),
    width: z.int().describe('Width in pixels'),
    height: z.int().describe('Height in pixels'),
  }),
);
export type StoredPicture = z.output<typeof storedPicture>;

export const memberPictureResource = defineResource({
  putMyPicture: {
    ...memberOnly,
    method: 'PUT',
    path: '/auth/me/picture',
    summary: 'Set your picture',
    description: `${rules} Visitors see it next to your messages. It replaces the previous picture.`,
    upload: true,
    bodyLimitBytes: maxPictureBytes,
    response: storedPicture,
    errors: pictureErrors,
  },
  deleteMyPicture: {
    ...memberOnly,
    method: 'DELETE',
    path: '/auth/me/picture',
    summary: 'Delete your picture',
    description: 'Visitors then see your initials. The path of the picture returns 404.',
    response: deleted,
    errors: ['not_found'],
  },
  putMemberPicture: {
    ...adminOnly,
    method: 'PUT',
    path: '/tenants/{tenantId}/members/{userId}/picture',
    summary: 'Set the picture of a member',
    description: rules,
    params: memberParams,
    upload: true,
    bodyLimitBytes: maxPictureBytes,
    response: storedPicture,
    errors: pictureErrors,
  },
  deleteMemberPicture: {
    ...adminOnly,
    method: 'DELETE',
    path: '/tenants/{tenantId}/members/{userId}/picture',
    summary: 'Delete the picture of a member',
    description: 'Visitors then see the initials of the member. The path of the picture returns 404.',
    params: memberParams,
    response: deleted,
    errors: ['not_found'],
  },
  getMemberPicture: {
    tag: 'Live Chat page',
    callers: ['public'],
    method: 'GET',
    path: '/widget/v1/pictures/{id}',
    summary: 'Download the picture of a member',
    description:
      'Requires no credentials, so that pages can show the picture. The id is random and new for each picture. Browsers may cache it for one hour.',
    params: z.strictObject({ id: id.describe('Id of the picture, from the path in other responses') }),
    binaryResponse: ['image/png', 'image/jpeg', 'image/webp'],
    response: z.any(),
    errors: ['not_found'],
    ipLimit: 'picture',
  },
});
