import { z } from 'zod';
import { id } from '../../../shared/contract/common.ts';
import { defineSkill, outgoingRetry } from '../../engine/skill.ts';
import type { DirectSkill } from '../../engine/skill.ts';
import type { CampaignMailing } from './campaign-mailing.ts';

const mailCounts = z.object({ sent: z.int(), simulated: z.int(), failed: z.int(), unknown: z.int() });

export const marketingSkills = (mailing: CampaignMailing): DirectSkill[] => [
  defineSkill({
    id: 'marketing.campaign_send',
    title: 'Send a campaign',
    summary: 'Mails a campaign to every contact of its list that has not had it yet.',
    requires: ['marketing', 'business_email'],
    // Its own ledger knows who got a mail, so that it goes on where it was cut off.
    effect: 'pure',
    waitsForThirdParty: true,
    retry: outgoingRetry,
    input: z.strictObject({ campaignId: id }),
    output: mailCounts.extend({ campaignId: id, total: mailCounts.describe('Since the campaign was made') }),
    execute: ({ campaignId }, context) => mailing.send(campaignId, context),
  }),
];
