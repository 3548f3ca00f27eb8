import { z } from 'zod';
import { id, named } from '../common.ts';
import { defineResource } from '../define.ts';

const tag = 'Workspaces and people';
const tenantParams = z.strictObject({ tenantId: id });

/** An origin as browsers send it. Origins are compared character by character. */
export const webOrigin = z
  .string()
  .max(300, 'must have at most 300 characters')
  .regex(
    /^(?:https:\/\/(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::[1-9]\d{0,4})?$/,
    'must be an origin such as https://inbox.example.com: https (http for localhost only), in lower case, without a path and without *',
  )
  .refine((value) => !/^http:.*:80$|^https:.*:443$/.test(value), 'must not name the default port');

const allowedOrigins = named(
  'AllowedOrigins',
  z.strictObject({
    origins: z
      .array(webOrigin)
      .max(50, 'must have at most 50 origins')
      .refine((origins) => new Set(origins).size === origins.length, 'must name each origin once')
      .describe('Origins whose pages may call this workspace from a browser, at most 50'),
  }),
  { origins: ['https://inbox.example.com'] },
);

export const originResource = defineResource({
  getAllowedOrigins: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'GET',
    path: '/tenants/{tenantId}/allowed-origins',
    summary: 'List allowed browser origins',
    description: 'Sorted alphabetically. Origins that the operator allows for all workspaces are not included.',
    params: tenantParams,
    response: allowedOrigins,
  },
  putAllowedOrigins: {
    tag,
    callers: ['session'],
    role: 'admin',
    method: 'PUT',
    path: '/tenants/{tenantId}/allowed-origins',
    summary: 'Set allowed browser origins',
    description:
      'Pages of these origins, such as an inbox or a softphone on another host, may call the operations of signed-in users and open their WebSockets. They must send the workspace JWT as `Authorization: Bearer` (WebSockets: as `?token=` or as the subprotocol, where the operation accepts one). Cookies are never accepted from another origin. Origins are compared exactly, with scheme and port; `*` and `null` are refused. The operator allows origins for all workspaces with `ALLOWED_ORIGINS`. Requests with API keys get no CORS headers: use API keys on servers only.',
    params: tenantParams,
    body: allowedOrigins,
    response: allowedOrigins,
  },
});
