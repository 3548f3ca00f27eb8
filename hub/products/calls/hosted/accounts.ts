import { createHash, randomInt } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const passwordLength = 32;

/** The SIP user of a workspace: the same at every opt-in. */
export const workspaceUsername = (tenantId: string): string =>
  `w${createHash('sha256').update(tenantId).digest('hex').slice(0, 16)}`;

/** The SIP user of a person in a workspace: that of the workspace, and the id of the person. */
export const personUsername = (tenantId: string, userId: string): string =>
  `${workspaceUsername(tenantId)}-${userId.replaceAll('-', '')}`;

export const newPassword = (): string =>
  Array.from({ length: passwordLength }, () => alphabet[randomInt(alphabet.length)]).join('');

/** What a digest by MD5 is computed from in the place of the password; SIP phones that speak a stronger one are rare. */
export const digestSecret = (username: string, domain: string, password: string): string =>
  createHash('md5').update(`${username}:${domain}:${password}`).digest('hex');
