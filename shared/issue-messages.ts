import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

const nouns: Record<string, string> = { string: 'characters', array: 'entries', set: 'entries' };

/** The problem with a value, for the person who entered it. It never contains text of the validator. */
export function issueMessage(issue: Issue): string {
  switch (issue.code) {
    case 'too_big':
      return `must have at most ${issue.maximum}${nounOf(issue.origin)}`;
    case 'too_small':
      if (issue.minimum === 1 && issue.origin in nouns) return 'must not be empty';
      return `must have at least ${issue.minimum}${nounOf(issue.origin)}`;
    case 'invalid_format':
      return issue.format === 'uuid' ? 'is not an id; copy the whole id' : 'has the wrong format';
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_type':
      return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
    case 'unrecognized_keys':
      return `has fields that are not known here: ${issue.keys.join(', ')}`;
    case 'custom':
      return issue.message;
    default:
      return 'is not valid';
  }
}

const nounOf = (origin: string): string => (Object.hasOwn(nouns, origin) ? ` ${nouns[origin]}` : '');

/** The message of a schema, unless it is a default text of the validator. */
export const schemaMessage = (issue: Issue): string =>
  /^Invalid (option|input)\b/.test(issue.message) ? issueMessage(issue) : issue.message;

/** The first problem of a value, with the name of its field. */
export function describeIssue(error: z.ZodError, whole: string): string {
  const [issue] = error.issues;
  return issue === undefined ? `${whole} is not valid` : `${issue.path.join('.') || whole} ${issueMessage(issue)}`;
}
