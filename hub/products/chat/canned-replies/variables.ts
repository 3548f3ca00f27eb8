import { maxMessageLength } from '../../../../shared/contract/chat/shapes.ts';
import { invalidBody } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { visibleLine } from '../../../../shared/visible-text.ts';

/** The values of the variables. */
export interface Variables {
  visitor: { name: string | null; email: string | null; attributes: JsonObject };
  agent: { email: string; displayName: string | null };
  conversation: { name: string };
}

const variable = /\{\{([^{}|]*)(?:\|([^{}]*))?\}\}/g;
const attributePrefix = 'visitor.attributes.';

/**
 * Replaces the variables of a text once. Values are never expanded again. An unknown value becomes the default after
 * `|`, or nothing. Other text stays unchanged. The result is at most as long as a message.
 */
export function fillIn(text: string, variables: Variables): string {
  let filled = '';
  let at = 0;
  for (const { 0: written, 1: name = '', 2: fallback = '', index } of text.matchAll(variable)) {
    // Values can be longer than their variables. The limit stops a short text from expanding without bound.
    if (filled.length > 2 * maxMessageLength) break;
    filled += text.slice(at, index) + (valueOf(name.trim(), variables, fallback) ?? written);
    at = index + written.length;
  }
  const whole = filled + text.slice(at);
  return whole.length <= maxMessageLength ? whole : [...whole].slice(0, maxMessageLength).join('');
}

const known = [
  'visitor.name',
  'visitor.email',
  'visitor.attributes.KEY',
  'agent.name',
  'agent.email',
  'conversation.name',
];

/**
 * @throws AppError `validation_failed` for an invalid variable, which visitors would see unreplaced.
 */
export function assertVariables(text: string): void {
  for (const { 1: written = '' } of text.matchAll(variable)) {
    const name = written.trim();
    if (known.includes(name) || (name.startsWith(attributePrefix) && name.length > attributePrefix.length)) continue;
    throw invalidBody(
      'content',
      `has {{${visibleLine(name).slice(0, 60)}}}, which is not a variable; the variables are ${known.join(', ')}`,
    );
  }
}

/** Undefined if the name is not a variable. */
function valueOf(name: string, { visitor, agent, conversation }: Variables, fallback: string): string | undefined {
  switch (name) {
    case 'visitor.name':
      return visitor.name ?? fallback;
    case 'visitor.email':
      return visitor.email ?? fallback;
    case 'agent.name':
      return agent.displayName ?? fallback;
    case 'agent.email':
      return agent.email;
    case 'conversation.name':
      return conversation.name;
  }
  const key = name.startsWith(attributePrefix) ? name.slice(attributePrefix.length) : '';
  if (key === '') return undefined;
  const value = Object.hasOwn(visitor.attributes, key) ? visitor.attributes[key] : null;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : fallback;
}
