/** Scheme and authority of an http or https URL, without user name, password or template. */
const authority = /^https?:\/\/[^\s/\\?#@{}]+([/?#]|$)/i;

/**
 * The host of an http or https address, with its port unless that is the default port of the scheme. All URL parsers must
 * read the same host, so the syntax is stricter than that of `URL`. Templates are allowed only after the host.
 * @returns null if the host contains a template, or if the address contains a user name or password.
 */
export function hostOf(address: string): string | null {
  const template = address.indexOf('{{');
  const head = template === -1 ? address : address.slice(0, template);
  const end = authority.exec(head)?.[1];
  if (end === undefined || (end === '' && template !== -1)) return null;
  const url = URL.parse(head);
  return url === null || url.username !== '' || url.password !== '' || url.host === '' ? null : url.host;
}

/** Normalizes a declared host to the spelling that `hostOf` returns. Returns null if the text is not a host. */
export function normalHost(host: string): string | null {
  return /[/?#]/.test(host) ? null : hostOf(`http://${host}`);
}

/** The addresses in the input of a call, with the names of their fields. */
export function addressesOf(input: Record<string, unknown>): { field: string; address: string }[] {
  return ['url', 'mediaUrl'].flatMap((field) =>
    typeof input[field] === 'string' ? [{ field, address: input[field] }] : [],
  );
}

/** Skills and hosts that a workflow made from a pack can use. Later edits and rendered templates do not extend them. */
export interface WorkflowGrants {
  skills: string[];
  hosts: string[];
}

/** Describes for users what in a call exceeds the grants of its workflow. Returns null if the call is within them. */
export function findGrantViolation(
  grants: WorkflowGrants,
  skillId: string,
  input: Record<string, unknown>,
): string | null {
  if (!grants.skills.includes(skillId)) return `${skillId} is none of its skills (${grants.skills.join(', ')})`;
  const denied = addressesOf(input).find(({ address }) => !grants.hosts.includes(hostOf(address) ?? ''));
  if (denied === undefined) return null;
  return `${denied.field} goes to ${hostOf(denied.address) ?? 'an unknown host'}, which is none of its hosts (${grants.hosts.join(', ') || 'it has none'})`;
}
