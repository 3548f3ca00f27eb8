import { domainToUnicode } from 'node:url';
import type { PairingLink } from '../../shared/companion/app.ts';
import { visibleLine } from '../../shared/visible-text.ts';

/** The scheme of pairing links: `outrigger://pair?hub=…&code=…`. */
export const pairingScheme = 'outrigger';

const maxLength = 2_000;
const maxShownLength = 200;
const localHosts = ['localhost', '127.0.0.1', '[::1]'];
/** Crockford's base32: no I, L, O, U. */
const codePattern = /^[0-9A-HJKMNP-TV-Z]{4}-?[0-9A-HJKMNP-TV-Z]{4}$/i;

const shown = (text: string) => visibleLine(text.slice(0, maxShownLength));
const refused = (problem: string, hub = ''): PairingLink => ({
  code: '',
  hub: shown(hub),
  looksLike: null,
  isEncrypted: false,
  isLocal: false,
  problem,
});

/** Whether a text, for example a command line argument, has the scheme of pairing links. */
export const isPairingLink = (text: string): boolean => text.toLowerCase().startsWith(`${pairingScheme}:`);

/**
 * Parses a pairing link: its hub and code, or the problem. Links are untrusted, so exactly one form is accepted:
 * one hub, one code, nothing else.
 */
export function readPairingLink(text: string): PairingLink {
  const notALink = 'This is not a complete pairing link. Copy it again from the page of the hub that shows it.';
  if (text.length > maxLength || !URL.canParse(text)) return refused(notALink);
  const link = new URL(text);
  const names = [...link.searchParams.keys()].toSorted();
  if (
    link.protocol !== `${pairingScheme}:` ||
    link.host !== 'pair' ||
    !['', '/'].includes(link.pathname) ||
    `${link.username}${link.password}${link.hash}` !== '' ||
    names.join() !== 'code,hub'
  )
    return refused(notALink);
  const hubText = link.searchParams.get('hub') ?? '';
  const code = (link.searchParams.get('code') ?? '').trim();
  if (!URL.canParse(hubText)) return refused('The link has no valid hub address.', hubText);
  const hub = new URL(hubText);
  if (!['http:', 'https:'].includes(hub.protocol))
    return refused('The hub of the link is not an http or https address.', hubText);
  if (`${hub.username}${hub.password}` !== '')
    return refused(
      'The address of the hub contains a user name, which can make it look like another address.',
      `${hub.protocol}//${hub.host}`,
    );
  if (`${hub.search}${hub.hash}` !== '')
    return refused('The address of the hub contains more than an address.', `${hub.origin}${hub.pathname}`);
  const address = `${hub.origin}${hub.pathname.replace(/(?<!\/)\/+$/, '')}`;
  if (!codePattern.test(code))
    return refused('The code of the link is not a pairing code. Pairing codes look like ABCD-EFGH.', address);
  const unicode = domainToUnicode(hub.hostname);
  const isLocal = localHosts.includes(hub.hostname);
  const isEncrypted = hub.protocol === 'https:';
  return {
    code: code.toUpperCase(),
    hub: address,
    looksLike: unicode === '' || unicode === hub.hostname ? null : shown(unicode),
    isEncrypted,
    isLocal,
    // For an unencrypted address, the window asks for an additional consent.
    problem: null,
  };
}
