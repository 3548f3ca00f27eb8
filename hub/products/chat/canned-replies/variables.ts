import { maxMessageLength } from '../../../../shared/contract/chat/shapes.ts';
import { invalidBody } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { visibleLine } from '../../../../shared/visible-text.ts';

/** What variables stand for. */
export interface Variables {
  visitor: { name: string | null; email: string | null; attributes: JsonObject };
  agent: { email: string; displayName: string | null };
  conversation: { name: string };
}

const variable = /\{\{([^{}|]*)(?:\|([^{}]*))?\}\}/g;
const attributePrefix = 'visitor.attributes.';

/**
 * Fills the variables of a text in, once: what a value holds is text, whatever it looks like. One that is not known
 * becomes what stands behind its `|`, or nothing; what is
 * no variable stays as it is written. The result has at most as many characters as a message.
 */
export function fillIn(text: string, variables: Variables): string {
  let filled = '';
  let at = 0;
  for (const { 0: written, 1: name = '', 2: fallback = '', index } of text.matchAll(variable)) {
    // Values are longer than what stands for them: many of them would make much of a little.
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
 * @throws AppError `validation_failed` for what looks like a variable and is none: a visitor would read it as it is
 * written.
 */
export function assertVariables(text: string): void {
  for (const { 1: written = '' } of text.matchAll(variable)) {
    const name = written.trim();
    if (known.includes(name) || (name.startsWith(attributePrefix) && name.length > attributePrefix.length)) continue;
    throw invalidBody(
      'content',
      `has {{${visibleLine(name).slice(0, 60)}}}, which stands for nothing; there are ${known.join(', ')}`,
    );
  }
}

/** Undefined for what is no variable. */
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
