/** What a pack may reach: the hosts that it declared, and no spelling of another. */

const authority = /^https?:\/\/[^\s/\\?#@{}]+([/?#]|$)/i;

/**
 * The host of an http or https address, with its port unless that is its scheme's own, as every URL parser reads it. Templates may
 * stand behind the host alone. Null for an address whose host is not written out, or hides behind a user name.
 */
export function hostOf(address: string): string | null {
  const template = address.indexOf('{{');
  const head = template === -1 ? address : address.slice(0, template);
  const end = authority.exec(head)?.[1];
  if (end === undefined || (end === '' && template !== -1)) return null;
  const url = URL.parse(head);
  return url === null || url.username !== '' || url.password !== '' || url.host === '' ? null : url.host;
}

/** A declared host in the spelling of `hostOf`; null for what is no host. */
export function normalHost(host: string): string | null {
  return /[/?#]/.test(host) ? null : hostOf(`http://${host}`);
}

/** The addresses that a call goes to or opens, with where they stand in its input. */
export function addressesOf(input: Record<string, unknown>): { field: string; address: string }[] {
  return ['url', 'mediaUrl'].flatMap((field) =>
    typeof input[field] === 'string' ? [{ field, address: input[field] }] : [],
  );
}

/** What a workflow that was made from a pack may do, whatever it is edited to or its templates bring. */
export interface WorkflowGrants {
  skills: string[];
  hosts: string[];
}

/** What a call does beyond the grants of its workflow, for people; null when it is within them. */
export function beyondGrants(grants: WorkflowGrants, skillId: string, input: Record<string, unknown>): string | null {
  if (!grants.skills.includes(skillId)) return `${skillId} is none of its skills (${grants.skills.join(', ')})`;
  const stranger = addressesOf(input).find(({ address }) => !grants.hosts.includes(hostOf(address) ?? ''));
  if (stranger === undefined) return null;
  return `${stranger.field} goes to ${hostOf(stranger.address) ?? 'no host that can be told'}, which is none of its hosts (${grants.hosts.join(', ') || 'it has none'})`;
}
