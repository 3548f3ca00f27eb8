import type { HostedSip } from '../../../shared/contract/calls/hosted-sip.ts';
import type { CallRecord } from '../../../shared/contract/calls/records.ts';
import { fetchFromHub, readRefusal as readRefusalOfHub } from '../voice/hub.ts';
import { userOf } from './peers.ts';
import type { Colleague } from './peers.ts';

/** The user who is signed in. */
export interface SignedInUser {
  id: string;
  tenantId: string;
  email: string;
  workspaceName: string;
}

/** The SIP account of the signed-in user. */
export interface Account {
  domain: string;
  user: string;
}

/** Why calls are not possible. The page has a text for each value. */
export type Problem =
  | 'signedOut'
  | 'ended'
  | 'notEntitled'
  | 'notConfigured'
  | 'notOptedIn'
  | 'unreachable'
  | 'unsupported';

/** Reads why the hub refused a WebSocket. */
export async function readRefusal(path: string): Promise<Problem> {
  const problem = await readRefusalOfHub(path);
  return problem === 'busyHub' ? 'unreachable' : problem;
}

/** Entries that the page loads for each list. */
const maxCalls = 20;
const maxColleagues = 100;

async function read<Type>(path: string): Promise<Type | Problem> {
  try {
    const response = await fetchFromHub(path);
    if (response.ok) return (await response.json()) as Type;
    return response.status === 401 ? 'signedOut' : response.status === 403 ? 'notEntitled' : 'unreachable';
  } catch {
    return 'unreachable';
  }
}

/** Reads the signed-in user of this browser, or the problem that prevents it. */
export async function readSignedInUser(): Promise<SignedInUser | Problem> {
  type Me = { tenantId: string; workspaceName: string; user: { id: string; email: string } };
  const me = await read<Me>('auth/me');
  if (typeof me === 'string') return me;
  return { id: me.user.id, email: me.user.email, tenantId: me.tenantId, workspaceName: me.workspaceName };
}

/** Reads the SIP account to register, or the problem that prevents it. */
export async function readAccount(): Promise<Account | Problem> {
  const hosted = await read<HostedSip>('sip/our-sip');
  if (typeof hosted === 'string') return hosted;
  const { enabled, entitled, domain, username } = hosted;
  if (!entitled) return 'notEntitled';
  if (domain === null) return 'notConfigured';
  return !enabled || username === null ? 'notOptedIn' : { domain, user: username };
}

/** Reads the other members of the workspace. Returns an empty list if that fails. */
export async function readColleagues({ id: own, tenantId }: SignedInUser, { user }: Account): Promise<Colleague[]> {
  const found = await read<{ data: { id: string; email: string }[] }>(
    `tenants/${tenantId}/members?limit=${maxColleagues}`,
  );
  if (typeof found === 'string') return [];
  return found.data
    .filter(({ id }) => id !== own)
    .map(({ id, email }) => ({ id, email, user: userOf(user, id) }))
    .toSorted((left, right) => left.email.localeCompare(right.email));
}

/** Reads the newest calls of the workspace. Returns null if that fails. */
export async function readCalls(): Promise<CallRecord[] | null> {
  const found = await read<{ items: CallRecord[] }>(`calls?limit=${maxCalls}`);
  return typeof found === 'string' ? null : found.items;
}
