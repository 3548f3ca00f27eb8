import type { Answer } from '../../../app/api.ts';

export type Policy = Answer<'getAutomationPolicy'>;
/** The policy that the form edits. */
export type PolicyValue = Omit<Policy, 'version' | 'updatedAt' | 'defaultApprovers'> & { defaultApprovers: string[] };
