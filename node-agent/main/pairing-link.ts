import { domainToUnicode } from 'node:url';
import type { PairingLink } from '../../shared/companion/app.ts';
import { visibleLine } from '../../shared/visible-text.ts';

/** The scheme of links that ask to pair this machine: `outrigger://pair?hub=…&code=…`. */
export const pairingScheme = 'outrigger';

const maxLength = 2_000;
const shownLength = 200;
const localHosts = ['localhost', '127.0.0.1', '[::1]'];
/** Crockford's base32: no I, L, O, U. */
const codePattern = /^[0-9A-HJKMNP-TV-Z]{4}-?[0-9A-HJKMNP-TV-Z]{4}$/i;

const shown = (text: string) => visibleLine(text.slice(0, shownLength));
const refused = (problem: string, hub = ''): PairingLink => ({
  code: '',
  hub: shown(hub),
  looksLike: null,
  isEncrypted: false,
  isLocal: false,
  problem,
});

/** Whether a text, such as an argument of a command line, claims to be a link of ours. */
export const isPairingLink = (text: string): boolean => text.toLowerCase().startsWith(`${pairingScheme}:`);

/**
 * Reads a link that somebody opened: what it would pair with, or why it can't be used. Whoever made it is not to be trusted, so only one form is taken:
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
  if (!URL.canParse(hubText)) return refused('The link names no hub that could be reached.', hubText);
  const hub = new URL(hubText);
  if (!['http:', 'https:'].includes(hub.protocol))
    return refused('The hub of the link is no http or https address.', hubText);
  if (`${hub.username}${hub.password}` !== '')
    return refused(
      'The address of the hub carries a user name, which can make it look like another one.',
      `${hub.protocol}//${hub.host}`,
    );
  if (`${hub.search}${hub.hash}` !== '')
    return refused('The address of the hub carries more than an address.', `${hub.origin}${hub.pathname}`);
  const address = `${hub.origin}${hub.pathname.replace(/(?<!\/)\/+$/, '')}`;
  if (!codePattern.test(code))
    return refused('The code of the link is not a pairing code; those look like ABCD-EFGH.', address);
  const unicode = domainToUnicode(hub.hostname);
  const isLocal = localHosts.includes(hub.hostname);
  const isEncrypted = hub.protocol === 'https:';
  return {
    code: code.toUpperCase(),
    hub: address,
    looksLike: unicode === '' || unicode === hub.hostname ? null : shown(unicode),
    isEncrypted,
    isLocal,
    // One that is not encrypted the window asks about once more, as it does where an address is typed.
    problem: null,
  };
}
