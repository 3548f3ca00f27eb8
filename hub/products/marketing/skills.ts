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
    summary:
      'Sends a campaign to every contact of its list that has not received it. A test run simulates a mail to every subscribed contact and does not affect live runs.',
    requires: ['marketing', 'business_email'],
    // `campaign_mails` records each mail, so that a repeated call continues after the last mail.
    effect: 'pure',
    waitsForThirdParty: true,
    retry: outgoingRetry,
    input: z.strictObject({ campaignId: id }),
    output: mailCounts.extend({ campaignId: id, total: mailCounts.describe('Totals since the campaign was created') }),
    execute: ({ campaignId }, context) => mailing.send(campaignId, context),
  }),
];
