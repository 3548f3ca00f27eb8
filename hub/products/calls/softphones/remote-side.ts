import { listOf, parseAddress } from '../sip/index.ts';
import type { SipMessage, SipRequest, SipSides } from '../sip/index.ts';

/** Contacts of the other side that may be asked yet: a request may be on its way while there is a new one. */
const maxTargets = 4;
const maxRoutes = 32;

/** The other side of a call: where it said that it is, and by way of whom. */
export class RemoteSide {
  /** The newest is the last. */
  #targets: string[];
  readonly #routes: Set<string>;

  constructor({ targets, routes }: SipSides = { targets: [], routes: [] }) {
    this.#targets = targets;
    this.#routes = new Set(routes);
  }

  learn(message: SipMessage): void {
    const contacts = listOf(message, 'contact');
    const [contact = ''] = contacts;
    const { uri } = parseAddress(contact);
    if (contacts.length === 1 && placeOf(uri) !== null)
      this.#targets = [...this.#targets.filter((each) => each !== uri), uri].slice(-maxTargets);
    for (const value of listOf(message, 'record-route'))
      if (this.#routes.size < maxRoutes) this.#routes.add(parseAddress(value).uri.toLowerCase());
  }

  /** The Contact that an address means, in whatever way it is written; null for another address. */
  targetLike(uri: string): string | null {
    const place = placeOf(uri);
    return (place === null ? undefined : this.#targets.findLast((target) => placeOf(target) === place)) ?? null;
  }

  /** Whether a request goes by way of none but those who said so in this call. */
  leads(request: SipRequest): boolean {
    return listOf(request, 'route').every((value) => {
      const uri = /^<([^<>"\s]+)>(?:;[^<>"]*)?$/.exec(value)?.[1]?.toLowerCase() ?? '';
      return this.#routes.has(uri) || this.#routes.has(uri.split(';', 1)[0] as string);
    });
  }
}

/** User, host and port of an address; null for what is none. */
function placeOf(uri: string): string | null {
  const [, user, host] = /^sips?:(?:([^@;?\s]*)@)?([^@;?\s]+)(?:[;?]\S*)?$/i.exec(uri) ?? [];
  if (host === undefined) return null;
  try {
    return `${decodeURIComponent(user ?? '')}@${host.toLowerCase()}`;
  } catch {
    return null;
  }
}
