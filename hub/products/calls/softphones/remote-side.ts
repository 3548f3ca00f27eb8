import { listOf, parseAddress } from '../sip/index.ts';
import type { SipMessage, SipRequest, SipSides } from '../sip/index.ts';

/** Recent Contacts that requests may use. A request can be in transit when the Contact changes. */
const maxTargets = 4;
const maxRoutes = 32;

/** Contacts and routes of the remote side of a call. */
export class RemoteSide {
  /** Contacts, newest last. */
  #targets: string[];
  readonly #routes: Set<string>;

  constructor({ targets, routes }: SipSides = { targets: [], routes: [] }) {
    this.#targets = targets;
    this.#routes = new Set(routes);
  }

  update(message: SipMessage): void {
    const contacts = listOf(message, 'contact');
    const [contact = ''] = contacts;
    const { uri } = parseAddress(contact);
    if (contacts.length === 1 && locationOf(uri) !== null)
      this.#targets = [...this.#targets.filter((each) => each !== uri), uri].slice(-maxTargets);
    for (const value of listOf(message, 'record-route'))
      if (this.#routes.size < maxRoutes) this.#routes.add(parseAddress(value).uri.toLowerCase());
  }

  /** The known Contact that a URI is equivalent to, or null. */
  targetLike(uri: string): string | null {
    const location = locationOf(uri);
    return (
      (location === null ? undefined : this.#targets.findLast((target) => locationOf(target) === location)) ?? null
    );
  }

  /** Whether all Route headers of a request are routes of this call. */
  hasRoutesOf(request: SipRequest): boolean {
    return listOf(request, 'route').every((value) => {
      const uri = /^<([^<>"\s]+)>(?:;[^<>"]*)?$/.exec(value)?.[1]?.toLowerCase() ?? '';
      return this.#routes.has(uri) || this.#routes.has(uri.split(';', 1)[0] as string);
    });
  }
}

/** User, host and port of a URI. Null for an invalid URI. */
function locationOf(uri: string): string | null {
  const [, user, host] = /^sips?:(?:([^@;?\s]*)@)?([^@;?\s]+)(?:[;?]\S*)?$/i.exec(uri) ?? [];
  if (host === undefined) return null;
  try {
    return `${decodeURIComponent(user ?? '')}@${host.toLowerCase()}`;
  } catch {
    return null;
  }
}
