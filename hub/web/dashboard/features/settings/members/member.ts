import type { Answer } from '../../../app/api.ts';

export type Member = Answer<'listMembers'>['data'][number];
