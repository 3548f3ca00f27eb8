import { headersOf } from './message.ts';
import type { SipHeaders } from './message.ts';

/** Splits at a separator, except inside quotes and angle brackets. */
export function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let part = '';
  let isQuoted = false;
  let isAngled = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] as string;
    if (isQuoted && character === '\\') {
      part += character + (text[at + 1] ?? '');
      at += 1;
      continue;
    }
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === '<') isAngled = true;
    else if (!isQuoted && character === '>') isAngled = false;
    else if (!isQuoted && !isAngled && character === separator) {
      parts.push(part.trim());
      part = '';
      continue;
    }
    part += character;
  }
  parts.push(part.trim());
  return parts;
}

/** All values of a header that may hold a list. @param name lower-case header name. */
export const listOf = (message: { headers: SipHeaders }, name: string): string[] =>
  headersOf(message, name).flatMap((value) => splitOutside(value, ',').filter((part) => part !== ''));

export function unquote(text: string): string {
  return text.startsWith('"') && text.endsWith('"') && text.length > 1
    ? text.slice(1, -1).replace(/\\(.)/g, '$1')
    : text;
}

export const quote = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;

/**
 * Parameters by lower-case name. A parameter without a value has an empty value. If a name is repeated, the first value is used.
 */
function parseParameters(parts: readonly string[]): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of parts) {
    const equals = part.indexOf('=');
    const name = (equals < 0 ? part : part.slice(0, equals)).trim().toLowerCase();
    if (name !== '' && !parameters.has(name))
      parameters.set(name, equals < 0 ? '' : unquote(part.slice(equals + 1).trim()));
  }
  return parameters;
}

/** Parses a value of Contact, From or To. */
export function parseAddress(value: string): { uri: string; parameters: Map<string, string> } {
  const [address = '', ...parameters] = splitOutside(value, ';');
  const angled = /<([^<>]*)>/.exec(address)?.[1];
  return { uri: (angled ?? address).trim(), parameters: parseParameters(parameters) };
}

/** Parses a value of Via. */
export function parseVia(value: string): { sentBy: string; parameters: Map<string, string> } | null {
  const [sent = '', ...parameters] = splitOutside(value, ';');
  const sentBy = /^SIP\s*\/\s*2\.0\s*\/\s*[\w-]{1,20}\s+(\S{1,300})$/i.exec(sent)?.[1];
  return sentBy === undefined ? null : { sentBy: sentBy.toLowerCase(), parameters: parseParameters(parameters) };
}

/** An authentication challenge, for example of WWW-Authenticate. The scheme is in lower case. */
export interface Challenge {
  scheme: string;
  parameters: Map<string, string>;
}

/** All challenges of a header, in separate headers or in one list. @param name lower-case header name. */
export function challengesOf(message: { headers: SipHeaders }, name: string): Challenge[] {
  const found: { scheme: string; parts: string[] }[] = [];
  for (const header of headersOf(message, name))
    for (const part of splitOutside(header, ',')) {
      const [, scheme, rest = ''] = /^([A-Za-z0-9-]{1,32})\s+(\S.*)$/.exec(part) ?? [];
      if (scheme !== undefined && !rest.startsWith('=')) found.push({ scheme: scheme.toLowerCase(), parts: [rest] });
      else found.at(-1)?.parts.push(part);
    }
  return found.map(({ scheme, parts }) => ({ scheme, parameters: parseParameters(parts) }));
}

/** The leading digits of a header or parameter, at most ten. Null for any other text. */
export const secondsOf = (text: string | undefined): number | null => {
  const digits = /^(\d{1,10})(?!\d)/.exec(text?.trim() ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
};
