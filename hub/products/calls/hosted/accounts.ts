import { createHash, randomInt } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const passwordLength = 32;

/** SIP user of a workspace. It stays the same after every opt-in. */
export const workspaceUsername = (tenantId: string): string =>
  `w${createHash('sha256').update(tenantId).digest('hex').slice(0, 16)}`;

/** SIP user of a member: the SIP user of the workspace plus the user ID. */
export const personUsername = (tenantId: string, userId: string): string =>
  `${workspaceUsername(tenantId)}-${userId.replaceAll('-', '')}`;

export const newPassword = (): string =>
  Array.from({ length: passwordLength }, () => alphabet[randomInt(alphabet.length)]).join('');

/** The MD5 hash from which a digest response is computed (HA1). Few SIP phones support stronger algorithms. */
export const digestSecret = (username: string, domain: string, password: string): string =>
  createHash('md5').update(`${username}:${domain}:${password}`).digest('hex');
