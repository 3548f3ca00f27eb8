import { pagedQuery } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';

export type Member = Answer<'listMembers'>['data'][number];

export const memberList = (tenantId: string) =>
  pagedQuery('listMembers', { params: { tenantId }, query: { limit: 25 } });
