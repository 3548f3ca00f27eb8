import { z } from 'zod';
import { text } from '../../../../shared/contract/common.ts';
import { defineSkill, outgoingRetry } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import { emailOutput } from './email.ts';
import type { Email } from './email.ts';

export const emailSkills = (email: Email): DirectSkill[] => [
  defineSkill({
    id: 'email.send',
    title: 'Send a mail',
    summary: "Sends a mail through the hub's SMTP server.",
    requires: ['business_email'],
    effect: 'once',
    waitsForThirdParty: true,
    retry: outgoingRetry,
    input: z
      .strictObject({
        to: z.array(z.email('must be an email address').max(254)).min(1, 'must name at least one address').max(50),
        subject: text(1, 500),
        html: text(1, 500_000).optional(),
        text: text(1, 100_000).optional(),
        body: text(1, 100_000).optional().describe('Alias of text'),
      })
      .refine((input) => input.html !== undefined || input.text !== undefined || input.body !== undefined, {
        message: 'give html, text or body',
        path: ['text'],
      }),
    output: emailOutput,
    execute: ({ body, ...mail }, context) => email.send({ ...mail, text: mail.text ?? body }, context),
  }),
];
