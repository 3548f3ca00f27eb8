import type { HostedSip } from '../../../shared/contract/calls/hosted-sip.ts';
import type { CallRecord } from '../../../shared/contract/calls/records.ts';
import { fetchFromHub, readRefusal as readRefusalOfHub } from '../voice/hub.ts';
import { userOf } from './people.ts';
import type { Colleague } from './people.ts';

/** Who is signed in. */
export interface Person {
  id: string;
  tenantId: string;
  email: string;
  workspaceName: string;
}

/** What the SIP server knows this person as. */
export interface Account {
  domain: string;
  user: string;
}

/** Why nobody can be called, as the page says it. */
export type Problem =
  | 'signedOut'
  | 'ended'
  | 'notEntitled'
  | 'notConfigured'
  | 'notOptedIn'
  | 'unreachable'
  | 'unsupported';

/** Why the hub refused a WebSocket. */
export async function readRefusal(path: string): Promise<Problem> {
  const problem = await readRefusalOfHub(path);
  return problem === 'busyHub' ? 'unreachable' : problem;
}

/** How many calls, and people, are shown. */
const shownCalls = 20;
const shownPeople = 100;

async function read<Type>(path: string): Promise<Type | Problem> {
  try {
    const response = await fetchFromHub(path);
    if (response.ok) return (await response.json()) as Type;
    return response.status === 401 ? 'signedOut' : response.status === 403 ? 'notEntitled' : 'unreachable';
  } catch {
    return 'unreachable';
  }
}

/** Who is signed in at this browser, or why that is not known. */
export async function readPerson(): Promise<Person | Problem> {
  type Me = { tenantId: string; workspaceName: string; user: { id: string; email: string } };
  const me = await read<Me>('auth/me');
  if (typeof me === 'string') return me;
  return { id: me.user.id, email: me.user.email, tenantId: me.tenantId, workspaceName: me.workspaceName };
}

/** As whom to register, or why that is not possible. */
export async function readAccount(): Promise<Account | Problem> {
  const hosted = await read<HostedSip>('sip/our-sip');
  if (typeof hosted === 'string') return hosted;
  const { enabled, entitled, domain, username } = hosted;
  if (!entitled) return 'notEntitled';
  if (domain === null) return 'notConfigured';
  return !enabled || username === null ? 'notOptedIn' : { domain, user: username };
}

/** The others of the workspace; nobody where that can't be read. */
export async function readColleagues({ id: own, tenantId }: Person, { user }: Account): Promise<Colleague[]> {
  const found = await read<{ data: { id: string; email: string }[] }>(
    `tenants/${tenantId}/members?limit=${shownPeople}`,
  );
  if (typeof found === 'string') return [];
  return found.data
    .filter(({ id }) => id !== own)
    .map(({ id, email }) => ({ id, email, user: userOf(user, id) }))
    .toSorted((left, right) => left.email.localeCompare(right.email));
}

/** The calls of the workspace that began last; null where they can't be read. */
export async function readCalls(): Promise<CallRecord[] | null> {
  const found = await read<{ items: CallRecord[] }>(`calls?limit=${shownCalls}`);
  return typeof found === 'string' ? null : found.items;
}
