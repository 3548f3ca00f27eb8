import type { Answer } from '../../../app/api.ts';

/** The chat settings that the form edits. */
export type ChatValue = Omit<Answer<'getChatSettings'>, 'siteKey' | 'snippet' | 'updatedAt'>;
